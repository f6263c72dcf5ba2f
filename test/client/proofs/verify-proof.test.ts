import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { p256 } from '@noble/curves/nist.js';
import test from 'ava';
import canonicalize from 'canonicalize';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { keyFingerprint, verifyProof } from '../../../client/proofs/verify-proof.ts';
import { isOpenssl3, verifyWithOpenssl } from '../../../client/node/openssl.ts';
import { readProofFiles, writeProofFiles } from '../../../client/node/proof-files.ts';

const entryId = '01890a5d-ac96-774b-bcce-b302099a8057';
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }));
const fingerprint = keyFingerprint(spki);
const trustedKeys = [fingerprint];

function prove(entryCanonical: string, id = entryId): AuditProof {
  return {
    id,
    entryCanonical,
    entryHash: createHash('sha3-256').update(entryCanonical).digest('hex'),
    hsmSignature: sign('sha3-256', Buffer.from(entryCanonical), privateKey).toString('base64'),
    hsmKeyId: fingerprint.slice(0, 32),
    publicKey: Buffer.from(spki).toString('base64'),
  };
}

const sealedAt = '2026-11-23T07:30:00.000Z';
const entry = {
  v: 2,
  id: entryId,
  sealedAt,
  action: 'document.certify',
  data: { name: 'Größe €', size: 1e21 },
};
const proof = prove(canonicalize(entry) ?? '');

async function writeFiles(proof: AuditProof): Promise<string> {
  const directory = join(await mkdtemp(join(tmpdir(), 'proof-')), 'evidence');
  await writeProofFiles(proof, directory);
  return directory;
}

async function opensslVerifies(proof: AuditProof): Promise<boolean> {
  return verifyWithOpenssl(await writeFiles(proof));
}

test('a proof signed by another key is valid, and OpenSSL agrees', async (t) => {
  t.deepEqual(verifyProof(proof, { trustedKeys }), {
    valid: true,
    hashValid: true,
    signatureValid: true,
    keyTrusted: true,
  });
  t.true(await opensslVerifies(proof));
});

test('a key may be trusted by its id', (t) => {
  t.true(verifyProof(proof, { trustedKeys: [proof.hsmKeyId] }).valid);
});

test('both signatures of a pair with low and high s are valid', async (t) => {
  const signature = p256.Signature.fromBytes(Buffer.from(proof.hsmSignature, 'base64'), 'der');
  const other = new p256.Signature(signature.r, p256.Point.Fn.neg(signature.s));
  const hsmSignature = Buffer.from(other.toBytes('der')).toString('base64');
  t.true(verifyProof({ ...proof, hsmSignature }, { trustedKeys }).valid);
  t.true(await opensslVerifies({ ...proof, hsmSignature }));
});

test('a changed entry is detected, and OpenSSL agrees', async (t) => {
  const entryCanonical = proof.entryCanonical.replace('certify', 'destroy');
  const changed = { ...proof, entryCanonical };
  t.like(verifyProof(changed, { trustedKeys }), {
    valid: false,
    hashValid: false,
    signatureValid: false,
    reason: 'hash_mismatch',
  });
  t.false(await opensslVerifies(changed));
});

test('a changed entry with a matching hash is detected by its signature', (t) => {
  const entryCanonical = proof.entryCanonical.replace('certify', 'destroy');
  const { entryHash } = prove(entryCanonical);
  t.like(verifyProof({ ...proof, entryCanonical, entryHash }, { trustedKeys }), {
    valid: false,
    hashValid: true,
    signatureValid: false,
    reason: 'signature_invalid',
  });
});

test('a key outside of the trusted ones is not trusted', (t) => {
  for (const trustedKeys of [[], ['00'.repeat(32)], [fingerprint.slice(0, 31)], ['']]) {
    t.like(verifyProof(proof, { trustedKeys }), {
      valid: false,
      hashValid: true,
      signatureValid: false,
      keyTrusted: false,
      reason: 'key_untrusted',
    });
  }
});

test('the id of a trusted key lends no trust to another key', (t) => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
  const publicKey = other.export({ type: 'spki', format: 'der' }).toString('base64');
  t.like(verifyProof({ ...proof, publicKey }, { trustedKeys }), {
    valid: false,
    keyTrusted: false,
    reason: 'key_id_mismatch',
  });
});

test('an entry that is signed but not canonical is refused', (t) => {
  const texts = [
    JSON.stringify(entry, null, 1),
    `{"id":"${entryId}","id":"${entryId}"}`,
    `{"v":2,"id":"${entryId}","sealedAt":"${sealedAt}"}`,
    `{"id":"${entryId}","sealedAt":"${sealedAt}","v":2.0}`,
    'no json',
  ];
  for (const text of texts) {
    t.like(verifyProof(prove(text), { trustedKeys }), {
      valid: false,
      hashValid: false,
      signatureValid: true,
      reason: 'not_canonical',
    });
  }
});

test('a signed and canonical text that is no entry of a known version is refused', (t) => {
  for (const value of [
    null,
    [entryId],
    { id: entryId },
    { v: 1, id: entryId, sealedAt },
    { v: 2, id: entryId },
    { v: 2, sealedAt },
    { v: '2', id: entryId, sealedAt },
  ]) {
    const text = canonicalize(value) ?? '';
    t.like(verifyProof(prove(text), { trustedKeys }), { valid: false, reason: 'not_an_entry' });
  }
});

test('a proof whose id differs from its entry’s is refused', (t) => {
  const other = prove(proof.entryCanonical, entryId.replace('0', '1'));
  t.like(verifyProof(other, { trustedKeys }), { valid: false, reason: 'id_mismatch' });
});

test('keys of other types verify nothing', (t) => {
  const keys = [
    generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey,
    generateKeyPairSync('ed25519').publicKey,
  ];
  for (const key of keys) {
    const der = new Uint8Array(key.export({ type: 'spki', format: 'der' }));
    const hsmKeyId = keyFingerprint(der).slice(0, 32);
    const publicKey = Buffer.from(der).toString('base64');
    t.like(verifyProof({ ...proof, hsmKeyId, publicKey }, { trustedKeys: [hsmKeyId] }), {
      valid: false,
      reason: 'signature_invalid',
    });
  }
});

test('a value that is no proof is malformed, and throws nothing', (t) => {
  const { entryHash, hsmSignature } = proof;
  const others: unknown[] = [
    undefined,
    null,
    'proof',
    {},
    { ...proof, id: 7 },
    { ...proof, id: entryId.toUpperCase() },
    { ...proof, valid: true },
    { ...proof, entryHash: entryHash.toUpperCase() },
    { ...proof, entryHash: entryHash.slice(2) },
    { ...proof, hsmSignature: `${hsmSignature}\n` },
    { ...proof, publicKey: 'no base64' },
    { ...proof, entryCanonical: '"\ud800"' },
  ];
  for (const other of others) {
    t.like(verifyProof(other, { trustedKeys }), { valid: false, reason: 'malformed' });
  }
});

test('a proof is written as files that the OpenSSL command line accepts', async (t) => {
  const directory = await writeFiles(proof);
  t.is(await readFile(join(directory, 'entry.json'), 'utf8'), proof.entryCanonical);
  t.is(
    await readFile(join(directory, 'key.pem'), 'utf8'),
    publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  );
});

test('the written files read back as the same proof', async (t) => {
  const { entryCanonical, hsmSignature, publicKey } = proof;
  const files = await readProofFiles(await writeFiles(proof));
  t.deepEqual(files, { entryCanonical, hsmSignature, publicKey });
});

test('files that differ from the written proof are refused, even if decoded alike', async (t) => {
  const directory = await writeFiles(proof);
  const entry = join(directory, 'entry.json');
  await writeFile(entry, `\ufeff${proof.entryCanonical}`);
  t.not((await readProofFiles(directory)).entryCanonical, proof.entryCanonical);
  await writeFile(entry, Buffer.from([0x7b, 0xff, 0x7d]));
  await t.throwsAsync(readProofFiles(directory), { instanceOf: TypeError });

  const other = await writeFiles(proof);
  const key = join(other, 'key.pem');
  await writeFile(key, `${await readFile(key, 'utf8')}more`);
  await t.throwsAsync(readProofFiles(other), { instanceOf: TypeError });
});

test('only OpenSSL 3 and newer is accepted', (t) => {
  for (const version of ['OpenSSL 3.0.19 27 Jan 2026', 'OpenSSL 4.0.0', 'OpenSSL 10.1.0']) {
    t.true(isOpenssl3(version));
  }
  for (const version of ['OpenSSL 1.1.1w  11 Sep 2023', 'LibreSSL 3.3.6', '']) {
    t.false(isOpenssl3(version));
  }
});
