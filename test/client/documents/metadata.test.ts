import test from 'ava';
import { decodeBase64, encodeBase64 } from '../../../client/bytes/base64.ts';
import { unwrapMasterKey, wrapMasterKey } from '../../../client/keys/master-key-wrap.ts';
import { hashKeywords } from '../../../client/documents/keywords.ts';
import {
  decryptMetadata,
  encryptMetadata,
  openMetadata,
} from '../../../client/documents/metadata.ts';
import { ClientError } from '../../../client/errors/client-error.ts';
import {
  createDocumentKey,
  unwrapEarlierKey,
  wrapEarlierKey,
} from '../../../client/keys/document-key.ts';
import { streamVectors } from '../../support/client/stream-vectors.ts';

const { masterKey, documentKey, passwordKey } = streamVectors;
const { place } = streamVectors.metadata;
const keys = { masterKey, documentKey };
const metadata = {
  name: 'Vertrag.pdf',
  mediaType: 'application/pdf',
  size: 3,
  fileHash: 'ab'.repeat(32),
  keywords: ['nüsse'],
  content: { seed: '01'.repeat(32), root: '02'.repeat(32), sha256: '03'.repeat(32) },
};

test('metadata of the test vectors opens', async (t) => {
  const { metadata, earlierDocumentKey, earlierKey, encryptedMetadata } = streamVectors.metadata;
  const opened = { documentKey, metadata, place, earlierKey };
  t.deepEqual(await decryptMetadata(masterKey, place, encryptedMetadata), opened);
  const { documentId } = place;
  t.deepEqual(await unwrapEarlierKey(documentKey, documentId, earlierKey), earlierDocumentKey);
  t.deepEqual(await wrapEarlierKey(documentKey, documentId, earlierDocumentKey), earlierKey);
});

test('metadata of somebody else with the document key opens for recipients alone', async (t) => {
  const forged = await encryptMetadata(
    { ...keys, masterKey: createDocumentKey() },
    place,
    metadata,
  );
  const honest = decodeBase64(await encryptMetadata(keys, place, metadata));
  const mixed = decodeBase64(forged);
  mixed.set(honest.subarray(61, 101), 61);
  const code = 'invalid_metadata';
  await t.throwsAsync(decryptMetadata(masterKey, place, encodeBase64(mixed)), { code });
  await t.notThrowsAsync(openMetadata({ documentKey }, place, encodeBase64(mixed)));
});

test('encrypted metadata opens again with the document key in it', async (t) => {
  const encrypted = await encryptMetadata(keys, place, metadata);
  const { documentId } = place;
  const shared = { metadata, place, earlierKey: undefined };
  const opened = { ...shared, documentKey };
  t.deepEqual(await decryptMetadata(masterKey, { documentId }, encrypted), opened);
  t.deepEqual(await openMetadata({ documentKey }, { documentId }, encrypted), shared);
});

test('equal metadata never has equal ciphertext, and padding hides short names', async (t) => {
  const first = await encryptMetadata(keys, place, metadata);
  const second = await encryptMetadata(keys, place, metadata);
  const longer = await encryptMetadata(keys, place, { ...metadata, name: 'x'.repeat(40) });
  t.not(first, second);
  t.is(first.length, longer.length);
});

test('metadata with any byte changed does not open', async (t) => {
  const { documentId } = place;
  const bytes = decodeBase64(await encryptMetadata(keys, place, metadata));
  for (const index of bytes.keys()) {
    const changed = encodeBase64(bytes.with(index, (bytes[index] ?? 0) ^ 1));
    let code = 'invalid_metadata';
    if (index >= 1 && index < 17) code = 'document_mismatch';
    if (index >= 17 && index < 21) code = 'version_mismatch';
    await t.throwsAsync(decryptMetadata(masterKey, place, changed), { code }, String(index));
    // Recipients cannot tell whether the owner wrapped the key in it.
    if (index >= 61 && index < 101) continue;
    await t.throwsAsync(openMetadata({ documentKey }, { documentId }, changed), {
      instanceOf: ClientError,
    });
  }
});

test('metadata does not open under another master key, nor when it is malformed', async (t) => {
  const encrypted = await encryptMetadata(keys, place, metadata);
  const openings = [
    decryptMetadata(createDocumentKey(), place, encrypted),
    openMetadata({ documentKey: createDocumentKey() }, place, encrypted),
    decryptMetadata(masterKey, place, ''),
    decryptMetadata(masterKey, place, 'Ag=='),
    decryptMetadata(masterKey, place, 'not base64'),
  ];
  for (const opening of openings) await t.throwsAsync(opening, { code: 'invalid_metadata' });
});

test('metadata opens only as what it was encrypted for', async (t) => {
  const { documentId, version } = place;
  const encrypted = await encryptMetadata(keys, place, metadata);
  const other = '01890a5d-ab72-7c08-9d4e-1e8f6b2a9c36';
  const wrong = [
    [{ documentId: other }, 'document_mismatch'],
    [{ documentId, version: version + 1 }, 'version_mismatch'],
  ] as const;
  for (const [expected, code] of wrong) {
    await t.throwsAsync(decryptMetadata(masterKey, expected, encrypted), { code });
    await t.throwsAsync(openMetadata({ documentKey }, expected, encrypted), { code });
    // Neither does it open if its header names what is expected.
    const bytes = decodeBase64(encrypted);
    const elsewhere = await encryptMetadata(keys, { ...place, ...expected }, metadata);
    bytes.set(decodeBase64(elsewhere).subarray(0, 61));
    const moved = encodeBase64(bytes);
    const refusal = { code: 'invalid_metadata' };
    await t.throwsAsync(decryptMetadata(masterKey, expected, moved), refusal);
    await t.throwsAsync(openMetadata({ documentKey }, expected, moved), refusal);
  }
});

test('metadata that could not open the seal is not encrypted', async (t) => {
  const { seed, ...seedless } = metadata.content;
  const contents = [undefined, {}, seedless, { ...seedless, seed: `${seed.slice(1)}A` }];
  for (const content of contents) {
    const incomplete = { ...metadata, content } as typeof metadata;
    const expected = { instanceOf: TypeError, message: /content/ };
    await t.throwsAsync(encryptMetadata(keys, place, incomplete), expected);
  }
});

test('the master envelope matches the test vectors', async (t) => {
  const envelope = decodeBase64(streamVectors.masterEnvelope);
  t.deepEqual(await wrapMasterKey(passwordKey, { masterKey, generation: 1 }), envelope);
  t.deepEqual(await unwrapMasterKey(passwordKey, envelope, 1), masterKey);
  const refused = { code: 'invalid_envelope' };
  await t.throwsAsync(unwrapMasterKey(passwordKey, envelope, 2), refused);
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
