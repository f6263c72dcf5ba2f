import { readFile } from 'node:fs/promises';
import { hexToBytes, randomBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { z } from 'zod';
import { fingerprintOf as fingerprintOnServer } from '../../app/sharing/public-key.ts';
import { decodeBase64, encodeBase64 } from '../../client/bytes/base64.ts';
import { createKeyPair } from '../../client/crypto/hpke.ts';
import { fingerprintOf, unwrapPrivateKey, wrapPrivateKey } from '../../client/sharing/keys.ts';
import { openDocumentKey, sealDocumentKey } from '../../client/sharing/wrap.ts';
import { readVectors } from '../support/client/vectors.ts';

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
      fingerprint: z.string(),
      documentId: z.string(),
      documentKey: Hex,
      wrappedKey: Base64,
    }),
  }),
);
const { masterKey, privateKey, publicKey, documentId, documentKey, wrappedKey } = sharing;

test('a document key sealed by a second implementation opens', async (t) => {
  t.deepEqual(await openDocumentKey(privateKey, documentId, wrappedKey), documentKey);
  t.deepEqual(await openDocumentKey(privateKey, documentId.toUpperCase(), wrappedKey), documentKey);
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

test('vault and client compute the same fingerprint of a key', (t) => {
  t.is(fingerprintOf(publicKey), sharing.fingerprint);
  t.is(fingerprintOnServer(encodeBase64(publicKey)), sharing.fingerprint);
});

test('the values printed in docs/formats.md are those of the test vectors', async (t) => {
  const formats = await readFile(new URL('../../docs/formats.md', import.meta.url), 'utf8');
  const joined = formats.replaceAll(/\s/g, '');
  const { sharing } = await readVectors(
    'sharing.json',
    z.object({ sharing: z.record(z.string(), z.string()) }),
  );
  t.is(Object.keys(sharing).length, 8);
  for (const [name, value] of Object.entries(sharing)) t.true(joined.includes(value), name);
});
