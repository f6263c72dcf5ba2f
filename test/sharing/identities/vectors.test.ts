import { readFile } from 'node:fs/promises';
import { hexToBytes, randomBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { fingerprintOf as fingerprintOnServer } from '../../../app/identities/public-identity.ts';
import { decodeBase64, encodeBase64 } from '../../../client/bytes/base64.ts';
import { createKeyPair } from '../../../client/crypto/hpke.ts';
import { fingerprintOf, publicIdentityOf } from '../../../client/identity/identity.ts';
import {
  unwrapPrivateKey,
  unwrapSigningSeed,
  wrapPrivateKey,
  wrapSigningSeed,
} from '../../../client/identity/wrap.ts';
import { isShareSignedBy, signShare } from '../../../client/sharing/share-signature.ts';
import { deriveVersionKey } from '../../../client/keys/document-key.ts';
import {
  openDocumentKey,
  openVersionKey,
  sealDocumentKey,
  sealVersionKey,
} from '../../../client/sharing/wrap.ts';
import { readVectors } from '../../support/client/vectors.ts';

const Hex = z.string().transform(hexToBytes);
const Base64 = z.string().transform(decodeBase64);

const { sharing } = await readVectors(
  'sharing.json',
  z.object({
    sharing: z.object({
      masterKey: Hex,
      privateKey: Hex,
      publicKey: Base64,
      wrappedPrivateKey: Base64,
      signingSeed: Hex,
      signingKey: Base64,
      wrappedSigningKey: Base64,
      fingerprint: z.string(),
      documentId: z.string(),
      documentKey: Hex,
      wrappedKey: Base64,
      signature: z.string(),
      version: z.int(),
      versionKey: Hex,
      wrappedVersionKey: Base64,
      versionSignature: z.string(),
    }),
  }),
);
const { masterKey, privateKey, publicKey, signingSeed, signingKey } = sharing;
const { documentId, documentKey, wrappedKey, signature } = sharing;
const identity = { publicKey, privateKey, signingKey, signingSeed };

test('a document key sealed by a second implementation opens', async (t) => {
  t.deepEqual(await openDocumentKey(privateKey, documentId, wrappedKey), documentKey);
  t.deepEqual(await openDocumentKey(privateKey, documentId.toUpperCase(), wrappedKey), documentKey);
});

test('a version’s key matches the test vectors, and opens for its version only', async (t) => {
  const { version, versionKey, wrappedVersionKey, versionSignature } = sharing;
  const name = { documentId, version };
  t.deepEqual(await deriveVersionKey(documentKey, name), versionKey);
  t.deepEqual(await openVersionKey(privateKey, name, wrappedVersionKey), versionKey);
  await t.throwsAsync(openVersionKey(privateKey, { ...name, version: 1 }, wrappedVersionKey));
  await t.throwsAsync(openDocumentKey(privateKey, documentId, wrappedVersionKey));
  await t.throwsAsync(openVersionKey(privateKey, name, wrappedKey));
  const sealed = await sealVersionKey(publicKey, name, versionKey);
  t.deepEqual(await openVersionKey(privateKey, name, sealed), versionKey);
  const share = { ...name, recipient: identity, wrappedKey: wrappedVersionKey };
  t.is(signShare(identity, share), versionSignature);
  t.false(isShareSignedBy(identity, { ...share, version: 1, signature: versionSignature }));
});

test('a sealed key opens again, has 80 bytes, and is never the same', async (t) => {
  const sealed = await sealDocumentKey(publicKey, documentId, documentKey);
  t.is(sealed.length, 80);
  t.deepEqual(await openDocumentKey(privateKey, documentId, sealed), documentKey);
  t.notDeepEqual(await sealDocumentKey(publicKey, documentId, documentKey), sealed);
});

test('a sealed key opens for its document and recipient only, and if unchanged', async (t) => {
  const other = documentId.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
  await t.throwsAsync(openDocumentKey(privateKey, other, wrappedKey));
  const stranger = await createKeyPair();
  await t.throwsAsync(openDocumentKey(stranger.privateKey, documentId, wrappedKey));
  for (const index of wrappedKey.keys()) {
    const changed = wrappedKey.with(index, (wrappedKey[index] ?? 0) ^ 1);
    await t.throwsAsync(openDocumentKey(privateKey, documentId, changed), undefined, `${index}`);
  }
  for (const length of [0, 31, 32, 79]) {
    await t.throwsAsync(openDocumentKey(privateKey, documentId, wrappedKey.slice(0, length)));
  }
});

test('nothing is sealed to a public key of small order', async (t) => {
  await t.throwsAsync(sealDocumentKey(new Uint8Array(32), documentId, documentKey));
});

test('the wrapped private key matches the test vectors', async (t) => {
  t.deepEqual(await wrapPrivateKey(masterKey, privateKey), sharing.wrappedPrivateKey);
  t.deepEqual(await unwrapPrivateKey(masterKey, sharing.wrappedPrivateKey), privateKey);
  const another = unwrapPrivateKey(randomBytes(32), sharing.wrappedPrivateKey);
  await t.throwsAsync(another, { code: 'invalid_envelope' });
});

test('the signing key matches the test vectors', async (t) => {
  t.deepEqual(publicIdentityOf(identity), { publicKey, signingKey });
  t.deepEqual(await wrapSigningSeed(masterKey, signingSeed), sharing.wrappedSigningKey);
  t.deepEqual(await unwrapSigningSeed(masterKey, sharing.wrappedSigningKey), signingSeed);
  const another = unwrapPrivateKey(masterKey, sharing.wrappedSigningKey);
  await t.throwsAsync(another, { code: 'invalid_envelope' });
});

test('vault and client compute the same fingerprint of an identity', (t) => {
  t.is(fingerprintOf(identity), sharing.fingerprint);
  const encoded = { publicKey: encodeBase64(publicKey), signingKey: encodeBase64(signingKey) };
  t.is(fingerprintOnServer(encoded), sharing.fingerprint);
});

test('a signature of a share is of its document, recipient, key and signer alone', (t) => {
  const share = { documentId, version: null, recipient: identity, wrappedKey, signature };
  t.is(signShare(identity, share), signature);
  t.true(isShareSignedBy(identity, share));
  const others = [
    { ...share, documentId: documentId.replace(/^0/, '1') },
    { ...share, version: 1 },
    { ...share, recipient: { ...identity, publicKey: signingKey } },
    { ...share, recipient: { ...identity, signingKey: publicKey } },
    { ...share, wrappedKey: wrappedKey.with(0, 1) },
    { ...share, signature: encodeBase64(decodeBase64(signature).with(0, 1)) },
    { ...share, signature: encodeBase64(new Uint8Array(64)) },
    { ...share, signature: 'AAAA' },
  ];
  for (const other of others) t.false(isShareSignedBy(identity, other));
  const { publicKey: point } = publicIdentityOf({ privateKey, signingSeed: privateKey });
  t.false(isShareSignedBy({ publicKey, signingKey: point }, share));
  t.false(isShareSignedBy({ publicKey, signingKey: new Uint8Array(32) }, share));
});

test('the values printed in docs/formats.md are those of the test vectors', async (t) => {
  const formats = await readFile(new URL('../../../docs/formats.md', import.meta.url), 'utf8');
  const joined = formats.replaceAll(/\s/g, '');
  const { sharing } = await readVectors(
    'sharing.json',
    z.object({ sharing: z.record(z.string(), z.union([z.string(), z.number()])) }),
  );
  t.is(Object.keys(sharing).length, 16);
  for (const [name, value] of Object.entries(sharing)) t.true(joined.includes(String(value)), name);
});
