import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import canonicalize from 'canonicalize';
import { writeProofFiles } from '../../client/node/proof-files.ts';
import type { AuditProof } from '../../client/proofs/proof-format.ts';
import { keyFingerprint } from '../../client/proofs/verify-proof.ts';
import { runProgram, temporaryDirectory } from '../support/processes/processes.ts';

/** Signs an entry with a new key and returns the proof, as anyone can make one. */
function prove(content: { readonly id: string; readonly data?: Record<string, string> }) {
  const entry = { v: 2, sealedAt: '2026-11-23T07:30:00.000Z', ...content };
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }));
  const entryCanonical = canonicalize(entry) ?? '';
  return {
    id: entry.id,
    entryCanonical,
    entryHash: createHash('sha3-256').update(entryCanonical).digest('hex'),
    hsmSignature: sign('sha3-256', Buffer.from(entryCanonical), privateKey).toString('base64'),
    hsmKeyId: keyFingerprint(der).slice(0, 32),
    publicKey: Buffer.from(der).toString('base64'),
  };
}

const proof = prove({ id: '01890a5d-ac96-774b-bcce-b302099a8057', data: { name: 'Größe' } });

/** Runs `npm run demo -- --verify DIR …` with a vault that cannot be reached. */
async function verify(t: ExecutionContext, directory: string, ...args: string[]) {
  const environment = { PROBATIO_URL: 'http://127.0.0.1:9' };
  const demo = runProgram(t, ['client/demo/main.ts', '--verify', directory, ...args], environment);
  const code = await demo.exitCode;
  const text = demo.lines.join('\n');
  return {
    code,
    libraryAgrees: /^client library: valid$/m.test(text),
    opensslAgrees: /^openssl dgst .*: Verified OK$/m.test(text),
  };
}

async function writeFolder(proof: AuditProof, directory: string): Promise<void> {
  await writeProofFiles(proof, directory);
  await writeFile(join(directory, 'proof.json'), JSON.stringify(proof));
}

async function createFolder(t: ExecutionContext): Promise<string> {
  const directory = await temporaryDirectory(t);
  await writeFolder(proof, directory);
  return directory;
}

async function flipBit(path: string, position: number): Promise<void> {
  const bytes = await readFile(path);
  const index = position % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ (1 << (position % 8));
  await writeFile(path, bytes);
}

const good = { code: 0, libraryAgrees: true, opensslAgrees: true };
const bad = { code: 1, libraryAgrees: false, opensslAgrees: false };

test('a proof folder is verified without the vault', async (t) => {
  const directory = await createFolder(t);
  t.deepEqual(await verify(t, directory), good);
  const fingerprint = keyFingerprint(new Uint8Array(Buffer.from(proof.publicKey, 'base64')));
  t.deepEqual(await verify(t, directory, '--key', fingerprint.toUpperCase()), good);
});

test('a changed bit anywhere in the entry fails both verifications', async (t) => {
  for (const position of [0, 7, 30, 59, 60, 61, 1000]) {
    const directory = await createFolder(t);
    await flipBit(join(directory, 'entry.json'), position);
    t.deepEqual(await verify(t, directory), bad, String(position));
  }
});

test('a changed bit in the signature fails both verifications', async (t) => {
  const directory = await createFolder(t);
  await flipBit(join(directory, 'signature.der'), 40);
  t.deepEqual(await verify(t, directory), bad);
});

test('a changed proof.json is detected, though OpenSSL does not read it', async (t) => {
  const directory = await createFolder(t);
  const changed = { ...proof, entryCanonical: proof.entryCanonical.replace('Größe', 'Grösse') };
  await writeFile(join(directory, 'proof.json'), JSON.stringify(changed));
  t.deepEqual(await verify(t, directory), { ...bad, opensslAgrees: true });
});

test('an entry signed with another key fails the client library, but not OpenSSL', async (t) => {
  const directory = await createFolder(t);
  const forged = prove({ id: proof.id, data: { name: 'forged' } });
  await writeFolder(forged, directory);
  t.deepEqual(await verify(t, directory, '--key', proof.hsmKeyId), {
    ...bad,
    opensslAgrees: true,
  });
});

test('files of another proof are detected by the id', async (t) => {
  const directory = await createFolder(t);
  await writeProofFiles(prove({ id: '01890a5d-ac96-774b-bcce-b302099a8058' }), directory);
  t.deepEqual(await verify(t, directory), { ...bad, opensslAgrees: true });
});

test('a missing file fails the verification, whichever it is', async (t) => {
  for (const name of ['entry.json', 'signature.der', 'key.pem', 'proof.json']) {
    const directory = await createFolder(t);
    await rm(join(directory, name));
    const { code, libraryAgrees } = await verify(t, directory);
    t.deepEqual({ code, libraryAgrees }, { code: 1, libraryAgrees: false }, name);
  }
});
