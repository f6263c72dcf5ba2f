import { randomBytes } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { addVersion } from '../../../client/documents/add-version.ts';
import { changeMetadata } from '../../../client/documents/change-metadata.ts';
import { encryptMetadata, openMetadata } from '../../../client/documents/metadata.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { readCommitment, verifyOriginal } from '../../../client/disclosure/verify-original.ts';
import type { ByteSource } from '../../../client/files/byte-source.ts';
import { decryptStream } from '../../../client/files/decryption.ts';
import { writeDisclosure } from '../../../client/node/disclosure/disclosure-folder.ts';
import { openFileSource } from '../../../client/node/file-source.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { collect } from '../../support/client/collect.ts';
import { sourceOf, storeBytes, toolsOf } from '../../support/client/stored.ts';
import { createUser } from '../../support/client/user.ts';
import { runScript } from '../../support/disclosure/run-script.ts';
import { temporaryDirectory } from '../../support/processes/processes.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import { startReadyVault } from '../../support/vault/vault.ts';

const vault = sharedVault();
const user = await createUser(vault);
const { session, masterKey } = user;
const tools = toolsOf(session);
const mebibyte = 2 ** 20;

function verify(proof: AuditProof, opening: unknown, source: ByteSource) {
  return verifyOriginal({ proof, opening, source, trustedKeys: [proof.hsmKeyId] });
}

async function storeSealed(size: number): Promise<{ readonly id: string; readonly bytes: Bytes }> {
  const { document, bytes } = await storeBytes(user, size);
  await session.certifyDocument(document.id);
  return { id: document.id, bytes };
}

test('with object, keys and vault deleted, a script verifies the original', async (t) => {
  const gone = await startReadyVault();
  const directory = await temporaryDirectory(t);
  const owner = await createUser(gone);
  const { document, bytes } = await storeBytes(owner, 3 * mebibyte + 5);
  const { id } = document;
  await owner.session.certifyDocument(id);
  await writeDisclosure(await owner.session.disclose(id), directory);
  const segments = join(directory, 'segments');
  await writeDisclosure(await owner.session.disclose(id, { segments: [3, 1] }), segments);
  await owner.session.closeAccount(owner.credentials.password);
  await gone.stop();

  await writeFile(join(directory, 'original'), bytes);
  const whole = await runScript(directory, 'verify-original.sh', ['original']);
  t.deepEqual([whole.code, whole.lines.at(-1)], [0, 'this file is what was sealed']);
  const some = await runScript(segments, 'verify-original.sh', ['disclosed.bin']);
  t.is(some.code, 0);
  t.deepEqual(some.lines.slice(-2), [
    'bytes 1048576 to 2097151 of this file are what was sealed',
    'bytes 3145728 to 3145732 of this file are what was sealed',
  ]);
  const disclosed = await readFile(join(segments, 'disclosed.bin'));
  t.is(disclosed.length, bytes.length);
  const redacted = new Uint8Array(bytes.length);
  for (const index of [1, 3]) {
    const offset = index * mebibyte;
    redacted.set(bytes.subarray(offset, offset + mebibyte), offset);
  }
  t.is(Buffer.compare(disclosed, redacted), 0);
});

test('a disclosure verifies in the library, whole and by segments', async (t) => {
  for (const size of [0, 1, mebibyte, mebibyte + 1]) {
    const { id, bytes } = await storeSealed(size);
    const { proof, opening, readSegments, file } = await session.disclose(id);
    t.deepEqual([readSegments, file], [undefined, undefined]);
    t.like(await verify(proof, opening, sourceOf(bytes)), {
      valid: true,
      documentId: id,
      version: 1,
      proven: { kind: 'whole' },
    });
    const some = await session.disclose(id, { segments: [0] });
    const length = Math.min(size, mebibyte);
    const proven = { kind: 'segments', ranges: [{ offset: 0, length }] };
    t.like(await verify(some.proof, some.opening, sourceOf(bytes)), { valid: true, proven });
  }
});

test('the plaintext of chosen segments is read in the order of the file', async (t) => {
  const { id, bytes } = await storeSealed(5 * mebibyte + 7);
  const { readSegments } = await session.disclose(id, { segments: [4, 0, 1, 5] });
  const found: number[] = [];
  for await (const { index, offset, bytes: segment } of readSegments?.() ?? []) {
    found.push(index);
    t.is(offset, index * mebibyte);
    t.is(Buffer.compare(segment, bytes.subarray(offset, offset + mebibyte)), 0);
  }
  t.deepEqual(found, [0, 1, 4, 5]);
});

test('an earlier version is disclosed with its own seal', async (t) => {
  const { id, bytes } = await storeSealed(10);
  const next = randomBytes(20);
  await addVersion(tools, { id, masterKey, source: sourceOf(next) });
  await t.throwsAsync(session.disclose(id), { code: 'not_sealed' });
  await session.certifyDocument(id);
  for (const [version, content] of [
    [1, bytes],
    [2, next],
    [undefined, next],
  ] as const) {
    const options = version === undefined ? {} : { version };
    const { proof, opening } = await session.disclose(id, options);
    t.like(await verify(proof, opening, sourceOf(content)), { valid: true, version: version ?? 2 });
  }
  await t.throwsAsync(session.disclose(id, { version: 3 }), { code: 'version_not_found' });
});

test('the encrypted file goes with a key that opens it and no metadata', async (t) => {
  const { id, bytes } = await storeSealed(mebibyte + 3);
  const disclosure = await session.disclose(id, { includeFile: true });
  const directory = await temporaryDirectory(t);
  await writeDisclosure(disclosure, directory);
  const hex = await readFile(join(directory, 'file-key.txt'), 'utf8');
  const fileKey = new Uint8Array(Buffer.from(hex.trim(), 'hex'));
  t.deepEqual(fileKey, disclosure.file?.fileKey);
  const encrypted = new Blob([await readFile(join(directory, 'encrypted.bin'))]).stream();
  t.is(Buffer.compare(await collect(decryptStream(fileKey, encrypted)), bytes), 0);

  const { encryptedMetadata } = await session.documents.get(id);
  const name = { documentId: id, version: 1 };
  for (const key of [{ versionKey: fileKey }, { documentKey: fileKey }]) {
    const opening = openMetadata(key, name, encryptedMetadata);
    await t.throwsAsync(opening, { code: 'invalid_metadata' });
  }
});

test('what cannot be disclosed is refused before anything is downloaded', async (t) => {
  const { id } = await storeSealed(mebibyte + 3);
  const both = session.disclose(id, { segments: [0], includeFile: true });
  await t.throwsAsync(both, { instanceOf: TypeError });
  for (const segments of [[], [2], [-1], [0.5], [0, 0], [NaN]]) {
    await t.throwsAsync(session.disclose(id, { segments }), { instanceOf: RangeError });
  }
  const { document } = await storeBytes(user, 5);
  await t.throwsAsync(session.disclose(document.id), { code: 'not_sealed' });
});

test('a seal without the commitment of the metadata is not disclosed', async (t) => {
  const uploaded = await session.uploadFile({ source: sourceOf(randomBytes(9)), masterKey });
  const { documentId: id, documentKey, storagePath, fileHash, content, size } = uploaded;
  const place = { documentId: id, version: 1, change: 0, previous: null, keyGeneration: 1 };
  const described = { name: 'a', mediaType: 'text/plain', size, keywords: [], fileHash, content };
  const encryptedMetadata = await encryptMetadata({ masterKey, documentKey }, place, described);
  await session.documents.create({ id, encryptedMetadata, keywordDeterministic: [], storagePath });
  await session.documents.certify(id);
  await t.throwsAsync(session.disclose(id), {
    code: 'seal_invalid',
    message: /no valid seal/,
  });
});

test('equal files have unequal commitments in their seals', async (t) => {
  const bytes = randomBytes(100);
  const commitments = [];
  for (const _ of [1, 2]) {
    const { document } = await storeBytes(user, 0, { source: sourceOf(bytes) });
    const { proof } = await session.certifyDocument(document.id);
    commitments.push(readCommitment(proof));
  }
  t.regex(commitments[0] ?? '', /^[0-9a-f]{64}$/);
  t.not(commitments[0], commitments[1]);
});

test('a folder takes only the space of the disclosed segments', async (t) => {
  const { id, bytes } = await storeSealed(12 * mebibyte);
  const directory = await temporaryDirectory(t);
  await writeDisclosure(await session.disclose(id, { segments: [11] }), directory);
  const path = join(directory, 'disclosed.bin');
  const { size, blocks } = await stat(path);
  t.is(size, bytes.length);
  t.true(blocks * 512 < 2 * mebibyte, String(blocks));
  await using source = await openFileSource(path);
  const opening: unknown = JSON.parse(await readFile(join(directory, 'opening.json'), 'utf8'));
  const proof = JSON.parse(await readFile(join(directory, 'proof.json'), 'utf8')) as AuditProof;
  t.like(await verify(proof, opening, source), { valid: true });
});

test('changed metadata keeps the content of the file', async (t) => {
  const { document } = await storeBytes(user, 10);
  const { id } = document;
  const before = await openDocument(tools, { id, masterKey });
  await changeMetadata(tools, { id, masterKey, name: 'another' });
  const { metadata } = await openDocument(tools, { id, masterKey });
  t.deepEqual(metadata, { ...before.metadata, name: 'another' });
});
