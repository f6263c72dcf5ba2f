import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hexToBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { commitmentOf } from '../../../client/content/commitment.ts';
import { readCommitment } from '../../../client/disclosure/verify-original.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { blobSource } from '../../../client/files/byte-source.ts';
import { openResumeFile } from '../../../client/node/resume-file.ts';
import type { VaultSession } from '../../../client/session.ts';
import { replayRecords } from '../../../client/uploads/resume.ts';
import type { UploadOptions } from '../../../client/uploads/send-parts.ts';
import { sessionDirectory } from '../../support/documents/stored-files.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import { pathOf, recordingFetch, storedParts } from '../../support/client/recording-fetch.ts';
import { hashContent } from '../../support/disclosure/sealed-original.ts';
import { connect, createUser } from '../../support/client/user.ts';

const vault = sharedVault();

/** A size of three parts. */
const fileBytes = 36 * 2 ** 20;

async function createFixture() {
  const { fetch, sent } = recordingFetch();
  const { session, masterKey } = await createUser(vault, connect(vault, fetch));
  const directory = await mkdtemp(join(tmpdir(), 'resume-'));
  const journal = await openResumeFile(join(directory, 'evidence.resume'));
  const evidence = { name: 'evidence.bin', mediaType: 'application/octet-stream', masterKey };
  const store = (bytes: Bytes, options: Partial<UploadOptions> = {}) =>
    session.storeDocument({
      ...evidence,
      ...options,
      source: blobSource(new Blob([bytes])),
      resume: journal,
    });
  return { sent, session, masterKey, journal, store };
}

type Fixture = Awaited<ReturnType<typeof createFixture>>;

/** Aborts the upload once one part is stored and another is under way. */
async function interrupt({ store }: Fixture, bytes: Bytes): Promise<unknown> {
  const user = new AbortController();
  const reason = new Error('the user left');
  const storing = store(bytes, {
    concurrency: 2,
    signal: user.signal,
    onProgress: () => user.abort(reason),
  });
  return storing.then(
    () => undefined,
    (error: unknown) => error === reason,
  );
}

async function countDocuments(session: VaultSession): Promise<number> {
  let count = 0;
  for await (const _ of session.documents.list()) count += 1;
  return count;
}

test('a resumed upload stores no part twice, and commits to all of them', async (t) => {
  const fixture = await createFixture();
  const { sent, session, masterKey, journal, store } = fixture;
  const bytes = randomBytes(fileBytes);
  t.true(await interrupt(fixture, bytes));
  const before = storedParts(sent);
  t.true(before.length > 0 && before.length < 3);

  const document = await store(bytes);
  t.deepEqual(storedParts(sent), [1, 2, 3]);
  const { metadata } = await openDocument(session, { id: document.id, masterKey });
  const seed = hexToBytes(metadata.content.seed);
  const { leaves: _, ...hashed } = await hashContent(bytes, { seed });
  t.deepEqual({ content: metadata.content, size: metadata.size }, hashed);
  const { proof } = await session.certifyDocument(document.id);
  t.is(readCommitment(proof), await commitmentOf(hashed));
  const sessions = sent.filter(({ method, path }) => method === 'POST' && path === '/v1/uploads');
  t.is(sessions.length, 1);
  t.is(await countDocuments(session), 1);
  t.deepEqual(await journal.load(), []);
});

test('a file changed since the interruption gets a new key and upload session', async (t) => {
  const fixture = await createFixture();
  const { sent, session, journal, store } = fixture;
  const bytes = randomBytes(fileBytes);
  t.true(await interrupt(fixture, bytes));
  const first = replayRecords(await journal.load()) ?? t.fail();

  bytes[0] = (bytes[0] ?? 0) ^ 1;
  sent.length = 0;
  let second: typeof first | undefined;
  await store(bytes, {
    async onProgress() {
      second ??= replayRecords(await journal.load());
    },
  });
  t.not(second?.sessionId, first.sessionId);
  t.not(second?.start.wrappedKey, first.start.wrappedKey);
  t.not(second?.start.header, first.start.header);
  const { sessionId = t.fail() } = first;
  t.false(sent.some(({ method, path }) => method === 'PUT' && path.includes(sessionId)));
  t.is((await session.uploads.status(sessionId)).status, 'ABORTED');
  t.is(await countDocuments(session), 1);
});

test('a part that the store lost is sent again, and the file is complete', async (t) => {
  const bytes = randomBytes(fileBytes);
  let hasLost = false;
  const losing: typeof globalThis.fetch = async (input, init) => {
    const [, sessionId] = /uploads\/([\w-]+)\/complete$/.exec(pathOf(input)) ?? [];
    if (sessionId !== undefined && !hasLost) {
      hasLost = true;
      const directory = await sessionDirectory(vault, sessionId);
      const part = (await readdir(directory)).find((name) => name.startsWith('2-')) ?? '';
      await rm(join(directory, part));
    }
    return fetch(input, init);
  };
  const { session, masterKey } = await createUser(vault, connect(vault, losing));
  const document = await session.storeDocument({
    name: 'evidence.bin',
    mediaType: 'application/octet-stream',
    masterKey,
    source: blobSource(new Blob([bytes])),
  });
  t.true(hasLost);
  t.is(await session.documents.hash(document.id), document.fileHash);
});
