import test from 'ava';
import { decodeBase64, encodeBase64 } from '../../../client/bytes/base64.ts';
import { unwrapKey, wrapKey } from '../../../client/crypto/aes-kw.ts';
import { hashKeywords } from '../../../client/documents/keywords.ts';
import { decryptMetadata, encryptMetadata } from '../../../client/documents/metadata.ts';
import { createDocumentKey } from '../../../client/keys/document-key.ts';
import { streamVectors } from '../../support/client/stream-vectors.ts';

const { masterKey, documentKey, passwordKey } = streamVectors;
const metadata = {
  name: 'Vertrag.pdf',
  mediaType: 'application/pdf',
  size: 3,
  fileHash: 'ab'.repeat(32),
};

test('metadata of the test vectors opens', async (t) => {
  const { metadata, encryptedMetadata } = streamVectors.metadata;
  t.deepEqual(await decryptMetadata(masterKey, encryptedMetadata), { documentKey, metadata });
});

test('encrypted metadata opens again with the document key in it', async (t) => {
  const encrypted = await encryptMetadata({ masterKey, documentKey }, metadata);
  t.deepEqual(await decryptMetadata(masterKey, encrypted), { documentKey, metadata });
});

test('equal metadata never has equal ciphertext, and padding hides short names', async (t) => {
  const keys = { masterKey, documentKey };
  const first = await encryptMetadata(keys, metadata);
  const second = await encryptMetadata(keys, metadata);
  const longer = await encryptMetadata(keys, { ...metadata, name: 'x'.repeat(40) });
  t.not(first, second);
  t.is(first.length, longer.length);
});

test('metadata with any byte changed does not open', async (t) => {
  const bytes = decodeBase64(await encryptMetadata({ masterKey, documentKey }, metadata));
  for (const index of bytes.keys()) {
    const changed = encodeBase64(bytes.with(index, (bytes[index] ?? 0) ^ 1));
    await t.throwsAsync(decryptMetadata(masterKey, changed), { code: 'invalid_metadata' });
  }
});

test('metadata does not open under another master key, nor when it is malformed', async (t) => {
  const encrypted = await encryptMetadata({ masterKey, documentKey }, metadata);
  const openings = [
    decryptMetadata(createDocumentKey(), encrypted),
    decryptMetadata(masterKey, ''),
    decryptMetadata(masterKey, 'AQ=='),
    decryptMetadata(masterKey, 'not base64'),
  ];
  for (const opening of openings) await t.throwsAsync(opening, { code: 'invalid_metadata' });
});

test('the master envelope matches the test vectors', async (t) => {
  const envelope = decodeBase64(streamVectors.masterEnvelope);
  t.deepEqual(await wrapKey(passwordKey, masterKey), envelope);
  t.deepEqual(await unwrapKey(passwordKey, envelope), masterKey);
});

test('keyword hashes match the test vectors', async (t) => {
  const { keyword, normalized, hash } = streamVectors.keyword;
  t.deepEqual(await hashKeywords(masterKey, [keyword, normalized]), [hash]);
});

test('keyword hashes reveal neither order nor another user’s keywords', async (t) => {
  const hashes = await hashKeywords(masterKey, ['b', 'a', 'c']);
  t.deepEqual(await hashKeywords(masterKey, ['c', 'b', 'a']), hashes);
  const others = new Set(await hashKeywords(createDocumentKey(), ['a', 'b', 'c']));
  t.true(hashes.every((hash) => !others.has(hash)));
});

test('a keyword that is blank or has no UTF-8 form is refused', async (t) => {
  for (const keyword of ['', ' \t', 'a\ud800']) {
    await t.throwsAsync(hashKeywords(createDocumentKey(), [keyword]), { instanceOf: TypeError });
  }
});
