import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { z } from 'zod';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { createApi, type Answer, type Api } from '../../support/documents/uploads.ts';
import {
  abort,
  bytesOf,
  complete,
  countStatuses,
  minPart,
  openSession,
  progress,
  putPart,
  sha3,
} from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { sessionDirectory } from '../../support/documents/stored-files.ts';

const test = anyTest as TestFn<{ readonly vault: Vault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = sharedVault();
  t.context = { vault, sql: createSql(vault) };
});

const actions = async (sql: Sql, sessionId: string) =>
  (
    await sql('select action from audit_entries where resource_id = $1 order by seq', [sessionId])
  ).map(({ action }) => action);

const statusAndCode = ({ status, body }: Answer) => `${status} ${String(body.code)}`;

test('a completion returns the file key, the size and the time', async (t) => {
  const api = await createApi(t.context.vault);
  const sessionId = await openSession(t, api, 10);
  await putPart(api, sessionId, 1, bytesOf(10));
  const { status, body } = await complete(api, sessionId);
  t.is(status, 200);
  t.deepEqual(Object.keys(body).sort(), ['completedAt', 'fileKey', 'fileSize', 'sessionId']);
  t.like(body, { sessionId, fileSize: 10 });
  t.regex(String(body.fileKey), /^[0-9a-f-]{36}\/evidence\.bin$/);
});

const Details = z.array(z.object({ path: z.string(), message: z.string() }));

/** Returns the paths that a refused completion names. */
async function missingParts(api: Api, sessionId: string): Promise<string> {
  const { status, body } = await complete(api, sessionId);
  if (status !== 400 || body.code !== 'invalid_parts') throw new Error(JSON.stringify(body));
  return Details.parse(body.details)
    .map(({ path }) => path)
    .join(' ');
}

test('an upload with missing parts is refused, and can be completed later', async (t) => {
  const api = await createApi(t.context.vault);
  const sessionId = await openSession(t, api, minPart + 1, 2);
  t.is(await missingParts(api, sessionId), 'parts.1 parts.2');
  await putPart(api, sessionId, 2, bytesOf(1));
  t.is(await missingParts(api, sessionId), 'parts.1');
  await putPart(api, sessionId, 1, bytesOf(minPart));
  t.is((await complete(api, sessionId)).status, 200);
});

test('a part lost by the store is named and can be sent again', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 2 * minPart + 1, 3);
  const parts = [bytesOf(minPart), bytesOf(minPart), bytesOf(1)];
  for (const [index, part] of parts.entries()) await putPart(api, sessionId, index + 1, part);
  const directory = await sessionDirectory(vault, sessionId);
  for (const file of await readdir(directory)) {
    if (/^[13]-/.test(file)) await rm(join(directory, file));
  }
  t.is(await missingParts(api, sessionId), 'parts.1 parts.3');
  t.like((await progress(api, sessionId)).body, { status: 'IN_PROGRESS', uploadedParts: 1 });
  const [first, last] = [bytesOf(minPart), bytesOf(1)];
  t.is((await putPart(api, sessionId, 1, first)).status, 200);
  t.is(await missingParts(api, sessionId), 'parts.3');
  t.is((await putPart(api, sessionId, 3, last)).status, 200);
  const { status, body } = await complete(api, sessionId);
  t.is(status, 200);
  const document = await api.send('POST', '/v1/documents', {
    json: { encryptedMetadata: 'AAAA', keywordDeterministic: [], storagePath: body.fileKey },
  });
  const file = Buffer.concat([first, parts[1] ?? first, last]);
  t.is(document.body.fileHash, sha3(file));
});

test('recorded parts that cannot add up are named, and the upload can be aborted', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, minPart + 10, 2);
  await putPart(api, sessionId, 2, bytesOf(10));
  // An earlier version recorded parts of any size.
  await sql('update upload_parts set size = 11 where session_id = $1', [sessionId]);
  const first = bytesOf(minPart);
  for (const { status, body } of [
    await complete(api, sessionId),
    await putPart(api, sessionId, 1, first),
  ]) {
    t.is(status, 400);
    t.is(body.code, 'parts_cannot_fit');
    t.deepEqual(body.details, [
      { path: 'fileSize', message: `expected ${minPart + 10} bytes, not 11` },
      { path: 'parts.2', message: 'received 11 bytes' },
    ]);
    t.regex(String(body.message), /abort/);
  }
  t.like((await progress(api, sessionId)).body, { status: 'IN_PROGRESS', uploadedParts: 1 });
  t.is((await abort(api, sessionId)).status, 200);
});

test('one of fifty concurrent completions succeeds', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 10);
  await putPart(api, sessionId, 1, bytesOf(10));
  const answers = await Promise.all(Array.from({ length: 50 }, () => complete(api, sessionId)));
  t.deepEqual(countStatuses(answers), { 200: 1, 409: 49 });
  const won = answers.find(({ status }) => status === 200);
  t.like((await progress(api, sessionId)).body, {
    status: 'COMPLETED',
    fileKey: won?.body.fileKey,
  });
  t.is(statusAndCode(await complete(api, sessionId)), '409 session_closed');
  t.is(statusAndCode(await putPart(api, sessionId, 1, bytesOf(10))), '409 session_closed');
  t.deepEqual(await actions(sql, sessionId), ['upload.created', 'upload.completed']);
});

async function race(api: Api, sessionId: string): Promise<[Answer, Answer]> {
  const both = () => [complete(api, sessionId), abort(api, sessionId)] as const;
  return Math.random() < 0.5
    ? Promise.all(both())
    : Promise.all(both().toReversed()).then(
        ([aborted, completed]) => [completed, aborted] as [Answer, Answer],
      );
}

test('exactly one of a concurrent completion and abort succeeds', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  for (let round = 0; round < 15; round += 1) {
    const sessionId = await openSession(t, api, 10);
    await putPart(api, sessionId, 1, bytesOf(10));
    const [completed, aborted] = await race(api, sessionId);
    const outcome = [completed.status, aborted.status];
    const { body } = await progress(api, sessionId);
    if (completed.status === 200) {
      t.deepEqual(outcome, [200, 409]);
      t.is(body.status, 'COMPLETED');
      t.deepEqual(await actions(sql, sessionId), ['upload.created', 'upload.completed']);
    } else {
      t.deepEqual(outcome, [409, 200]);
      t.is(body.status, 'ABORTED');
      t.deepEqual(await actions(sql, sessionId), ['upload.created', 'upload.aborted']);
    }
    await abort(api, sessionId);
  }
});

test('a completion whose process died is finished by the next one', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const sessionId = await openSession(t, api, 10);
  await putPart(api, sessionId, 1, bytesOf(10));
  await sql(
    `update upload_sessions set completing_until = now() + interval '1 minute' where id = $1`,
    [sessionId],
  );
  for (const answer of [
    await complete(api, sessionId),
    await abort(api, sessionId),
    await putPart(api, sessionId, 1, bytesOf(10)),
  ]) {
    t.is(statusAndCode(answer), '409 completion_in_progress');
    t.truthy(answer.headers.get('retry-after'));
  }
  await sql('update upload_sessions set completing_until = now() where id = $1', [sessionId]);
  const { status, body } = await complete(api, sessionId);
  t.is(status, 200);

  // Simulates a process that died after the object was published.
  await sql(
    `update upload_sessions set status = 'IN_PROGRESS', completed_at = null, object_version = null
     where id = $1`,
    [sessionId],
  );
  const again = await complete(api, sessionId);
  t.is(again.status, 200);
  t.is(again.body.fileKey, body.fileKey);
});

test('the status returns the file key of a completion whose response was lost', async (t) => {
  const api = await createApi(t.context.vault);
  const sessionId = await openSession(t, api, 10);
  await putPart(api, sessionId, 1, bytesOf(10));
  const { fileKey } = (await complete(api, sessionId)).body;
  t.like((await progress(api, sessionId)).body, {
    status: 'COMPLETED',
    fileKey,
    uploadedParts: 1,
    uploadedBytes: 10,
  });
});
