import { Client } from 'pg';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import {
  bytesOf,
  complete,
  minPart,
  openSession,
  progress,
  putPart,
  upload,
} from '../../support/documents/files.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { startPart } from './slow-part.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { storedFiles } from '../../support/documents/stored-files.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const partPath = (sessionId: string) => `/v1/uploads/${sessionId}/parts/1`;

/** Sends a part up to its half, and waits until its first bytes have reached the store. */
async function startReceived(
  t: { context: { readonly vault: TestVault; readonly sql: Sql } },
  api: Api,
  sessionId: string,
  bytes: Buffer,
  baseUrl?: string,
) {
  const { vault, sql } = t.context;
  const part = startPart(
    vault,
    api,
    partPath(sessionId),
    { 'content-length': bytes.length },
    baseUrl,
  );
  part.request.write(bytes.subarray(0, bytes.length / 2));
  await until(async () => (await claims(sql, sessionId)).length === 1, {
    what: 'the claim',
    timeoutMs: 60_000,
  });
  await until(async () => Object.keys(await storedFiles(vault, sessionId)).length > 1, {
    what: 'the first bytes in the store',
    timeoutMs: 60_000,
  });
  return part;
}

function claims(sql: Sql, sessionId: string) {
  return sql('select * from upload_parts where session_id = $1', [sessionId]);
}

/** Waits until the vault has noticed that the client of a request to this path has disconnected. */
async function untilAborted(vault: TestVault, path: string): Promise<void> {
  const isAborted = (line: string) =>
    line.includes(`"path":"${path}"`) && line.includes('"aborted":true');
  await until(() => vault.logLines.some(isAborted), {
    what: 'the end of the request',
    timeoutMs: 60_000,
  });
}

test('a part that is being received is not received twice', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(1000);
  const sessionId = await openSession(t, api, bytes.length);
  const part = await startReceived(t, api, sessionId, bytes);
  for (const other of [bytes, bytesOf(1000)]) {
    const { status, headers, body } = await putPart(api, sessionId, 1, other);
    t.is(status, 409);
    t.is(body.code, 'part_in_progress');
    t.regex(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  }
  t.is((await complete(api, sessionId)).body.code, 'invalid_parts');
  await upload(t, api, bytesOf(1000));
  part.request.end(bytes.subarray(500));
  t.is((await part.answer).status, 200);
  t.is((await putPart(api, sessionId, 1, bytes)).status, 200);
});

test('a connection that breaks during a part leaves nothing; the part can be resent', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(1000);
  const sessionId = await openSession(t, api, bytes.length);
  const part = await startReceived(t, api, sessionId, bytes);
  part.request.destroy();
  await until(async () => (await claims(sql, sessionId)).length === 0, {
    what: 'the claim to be released',
    timeoutMs: 60_000,
  });
  t.deepEqual(Object.keys(await storedFiles(vault, sessionId)), ['upload.json']);
  t.like((await progress(api, sessionId)).body, { uploadedParts: 0, uploadedBytes: 0 });
  t.is((await putPart(api, sessionId, 1, bytes)).status, 200);
});

test('a connection that breaks while a recorded part is resent changes nothing', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(1000);
  const sessionId = await openSession(t, api, bytes.length);
  await putPart(api, sessionId, 1, bytes);
  const before = await claims(sql, sessionId);
  const part = startPart(vault, api, partPath(sessionId), { 'content-length': 1000 });
  part.request.write(bytes.subarray(0, 500), () => part.request.destroy());
  await untilAborted(vault, partPath(sessionId));
  t.deepEqual(await claims(sql, sessionId), before);
  t.is((await complete(api, sessionId)).status, 200);
});

test('an abort ends a part that is being received', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(1000);
  const sessionId = await openSession(t, api, bytes.length);
  const part = await startReceived(t, api, sessionId, bytes);
  t.is((await api.send('DELETE', `/v1/uploads/${sessionId}`)).status, 200);
  part.request.end(bytes.subarray(500));
  const { status, body } = await part.answer;
  t.is(status, 409);
  t.is(body.code, 'session_closed');
  t.deepEqual(await claims(sql, sessionId), []);
  t.like((await progress(api, sessionId)).body, { status: 'ABORTED', uploadedParts: 0 });
});

test('the claim of a dead process is taken over when its lease expires', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const replica = await startReplica(vault);
  t.teardown(() => replica.process.stop());
  const bytes = bytesOf(minPart);
  const sessionId = await openSession(t, api, bytes.length);
  await startReceived(t, api, sessionId, bytes, replica.baseUrl);
  replica.process.kill('SIGKILL');
  await replica.process.exited;

  t.is((await putPart(api, sessionId, 1, bytes)).body.code, 'part_in_progress');
  const [claim] = await sql(
    `select extract(epoch from claimed_until - now()) as seconds
    from upload_parts where session_id = $1`,
    [sessionId],
  );
  t.true(Number(claim?.seconds) <= 15);
  await sql('update upload_parts set claimed_until = now() where session_id = $1', [sessionId]);
  t.is((await putPart(api, sessionId, 1, bytes)).status, 200);
  t.is((await complete(api, sessionId)).status, 200);
});

test('a running request renews its claim, and one that lost it records nothing', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(1000);
  const sessionId = await openSession(t, api, bytes.length);
  const part = await startReceived(t, api, sessionId, bytes);
  const [first] = await claims(sql, sessionId);
  await until(
    async () => {
      const [renewed] = await claims(sql, sessionId);
      return Number(renewed?.claimed_until) > Number(first?.claimed_until);
    },
    { what: 'the renewal of the claim', timeoutMs: 60_000, intervalMs: 250 },
  );
  const other = bytesOf(1000);
  const winner = await until(
    async () => {
      // The running request may renew its claim before the other one arrives.
      await sql('update upload_parts set claimed_until = now() where session_id = $1', [sessionId]);
      const answer = await putPart(api, sessionId, 1, other);
      return answer.body.code !== 'part_in_progress' && answer;
    },
    { what: 'the claim to be taken over', timeoutMs: 60_000 },
  );
  t.is(winner.status, 200);
  part.request.end(bytes.subarray(500));
  const loser = await part.answer;
  t.is(loser.status, 409);
  t.is(loser.body.code, 'part_in_progress');
  t.is((await putPart(api, sessionId, 1, other)).body.etag, winner.body.etag);
  t.is((await complete(api, sessionId)).status, 200);
});

test('a client that disconnects before its part is claimed leaves no claim', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const bytes = bytesOf(1000);
  const sessionId = await openSession(t, api, bytes.length);
  const blocker = new Client({ connectionString: vault.databases.admin });
  await blocker.connect();
  t.teardown(() => blocker.end());
  await blocker.query('begin');
  await blocker.query('select 1 from upload_sessions where id = $1 for update', [sessionId]);

  const part = startPart(vault, api, partPath(sessionId), { 'content-length': 1000 });
  part.request.write(bytes.subarray(0, 500));
  const { rows } = await blocker.query('select pg_backend_pid() as pid');
  const isWaiting = async () =>
    (
      await sql('select 1 from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))', [
        rows[0].pid,
      ])
    ).length > 0;
  await until(isWaiting, { what: 'the request to wait for the session', timeoutMs: 60_000 });
  part.request.destroy();
  await untilAborted(vault, partPath(sessionId));
  await blocker.query('commit');
  await until(async () => !(await isWaiting()), {
    what: 'the request to get the session',
    timeoutMs: 60_000,
  });

  const answer = await until(
    async () => {
      const answer = await putPart(api, sessionId, 1, bytes);
      return answer.status === 409 ? undefined : answer;
    },
    { what: 'the claim to be released', timeoutMs: 60_000 },
  );
  t.is(answer.status, 200);
});
