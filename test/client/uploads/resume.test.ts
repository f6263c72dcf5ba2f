import { randomUUID } from 'node:crypto';
import test from 'ava';
import { encodeBase64 } from '../../../client/bytes/base64.ts';
import { ClientError } from '../../../client/errors/client-error.ts';
import { createFileHeader } from '../../../client/files/header.ts';
import {
  createDocumentKey,
  deriveFileKey,
  encodeId,
  wrapDocumentKey,
} from '../../../client/keys/document-key.ts';
import {
  replayRecords,
  type ResumeRecord,
  type StartRecord,
} from '../../../client/uploads/resume.ts';
import { isResumable, isStale, openSavedUpload } from '../../../client/uploads/saved-upload.ts';
import { VaultError } from '../../../client/errors/vault-error.ts';

const masterKey = createDocumentKey();
const documentKey = createDocumentKey();
const name = { documentId: randomUUID(), version: 1 };
const header = await createFileHeader(await deriveFileKey({ documentKey }, name));
const start: StartRecord = {
  type: 'start',
  format: 3,
  ...name,
  idempotencyKey: randomUUID(),
  wrappedKey: encodeBase64(
    await wrapDocumentKey(masterKey, encodeId(name.documentId), documentKey),
  ),
  header: encodeBase64(header.encoded),
  plaintextSize: 10,
  encryptedSize: 110,
  partSize: 1_048_576,
  totalParts: 2,
};
const part = (number: number, sha256 = `digest ${number}`): ResumeRecord => ({
  type: 'part',
  number,
  sha256,
});

test('a journal lists the fixed parts and those that have arrived', (t) => {
  const state = replayRecords([start, part(1), part(2), { type: 'sent', number: 2 }, part(1)]);
  t.deepEqual(
    [...(state?.digests ?? [])],
    [
      [1, 'digest 1'],
      [2, 'digest 2'],
    ],
  );
  t.deepEqual([...(state?.sent ?? [])], [2]);
  t.is(state?.storagePath, undefined);
});

test('a journal names the upload session, once it was recorded', (t) => {
  const sessionId = randomUUID();
  t.is(replayRecords([start])?.sessionId, undefined);
  t.is(replayRecords([start, { type: 'created', sessionId }])?.sessionId, sessionId);
});

test('a journal names the storage path of a completed upload', (t) => {
  const completed: ResumeRecord = { type: 'completed', storagePath: 'there/file.bin' };
  t.is(replayRecords([start, part(1), completed])?.storagePath, 'there/file.bin');
});

test('a journal that contradicts itself is ignored', (t) => {
  t.is(replayRecords([]), undefined);
  t.is(replayRecords([part(1)]), undefined);
  t.is(replayRecords([start, part(1), start]), undefined);
  t.is(replayRecords([start, part(1), part(1, 'another digest')]), undefined);
});

test('a saved upload opens only for its user and for a file of its size', async (t) => {
  const state = replayRecords([start]) ?? t.fail();
  const opened = await openSavedUpload(state, { masterKey, plaintextSize: 10 });
  t.deepEqual(opened?.documentKey, documentKey);
  t.deepEqual(opened?.header, header);

  t.is(await openSavedUpload(state, { masterKey, plaintextSize: 11 }), undefined);
  const otherUser = { masterKey: createDocumentKey(), plaintextSize: 10 };
  t.is(await openSavedUpload(state, otherUser), undefined);
});

test('a saved upload whose header was exchanged is ignored', async (t) => {
  const other = await createFileHeader(createDocumentKey());
  for (const header of [encodeBase64(other.encoded), 'AAAA', 'A']) {
    const state = replayRecords([{ ...start, header }]) ?? t.fail();
    t.is(await openSavedUpload(state, { masterKey, plaintextSize: 10 }), undefined);
  }
});

test('an upload resumes only its own session, and only while that is open', (t) => {
  const state = replayRecords([start]) ?? t.fail();
  const session = { status: 'IN_PROGRESS', uploadedParts: 0, totalParts: 2 };
  t.true(isResumable(state, session));
  t.true(isResumable(state, { ...session, status: 'COMPLETED' }));
  t.false(isResumable(state, { ...session, status: 'ABORTED' }));
  t.false(isResumable(state, { ...session, totalParts: 3 }));
});

test('an upload starts again if its session is gone or its file changed, and only then', (t) => {
  const answer = (status: number, code: string) =>
    new VaultError(status, new Headers(), { message: '', code }, new Date());
  t.true(isStale(answer(404, 'not_found')));
  t.true(isStale(answer(410, 'session_expired')));
  t.true(isStale(answer(409, 'part_conflict')));
  t.true(isStale(new ClientError('source_changed')));

  t.false(isStale(answer(409, 'part_in_progress')));
  t.false(isStale(answer(401, 'token_expired')));
  t.false(isStale(answer(503, 'service_unavailable')));
  t.false(isStale(new ClientError('network_error')));
  t.false(isStale(new Error('disk full')));
});
