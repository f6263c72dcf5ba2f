import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { documentAt } from '../support/documents/documents.ts';
import { createApi, type Answer, type Api } from '../support/documents/uploads.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { bytesOf, fileOf, putPart, upload } from '../support/documents/files.ts';
import { startReplica } from '../support/documents/replica.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { isReplay, underKey } from './keyed.ts';
import { pauseCommits } from './paused-commit.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const codeOf = ({ status, body }: Answer) => `${status} ${String(body.code)}`;

/** Sends the request to a process that is about to die, so that no response arrives. */
function sendTo(baseUrl: string, api: Api, path: string, json: unknown, key: string) {
  return fetch(baseUrl + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${api.token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    },
    body: JSON.stringify(json),
  });
}

const keysOf = (sql: Sql, { caller }: Api) =>
  sql('select status from idempotency_keys where user_id = $1', [caller.userId]);

/** Resolves once the transaction of the dead process has committed or rolled back. */
const untilOver = (sql: Sql, what: string) =>
  until(
    async () =>
      (
        await sql(
          `select 1 from pg_stat_activity where datname = current_database()
         and usename = 'probatio_app' and xact_start is not null`,
        )
      ).length === 0,
    { what, timeoutMs: 60_000 },
  );

test.serial('a response committed by a dying process is replayed by another', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { fileKey } = await upload(t, api, bytesOf(9));
  const requests = { '/v1/uploads': fileOf(10), '/v1/documents': documentAt(fileKey) };
  for (const [path, json] of Object.entries(requests)) {
    const table = path === '/v1/uploads' ? 'upload_sessions' : 'documents';
    const replica = await startReplica(vault);
    const paused = await pauseCommits(vault, table);
    const lost = sendTo(replica.baseUrl, api, path, json, `key-of-${table}`);
    await untilWaiting(vault, 1);
    replica.process.kill('SIGKILL');
    await t.throwsAsync(lost);
    await paused.end();
    await untilOver(sql, 'the commit');

    const answer = await underKey(api, path, json, `key-of-${table}`)();
    t.is(answer.status, 201, JSON.stringify(answer.body));
    t.true(isReplay(answer));
    const id = answer.body.sessionId ?? answer.body.id;
    const rows = await sql(`select id from ${table} where user_id = $1`, [api.caller.userId]);
    t.true(rows.some((row) => row.id === id));
    t.is(rows.length, path === '/v1/uploads' ? 2 : 1);
  }
});

test.serial(
  'an upload session that was committed but not answered accepts its parts',
  async (t) => {
    const { sql, vault } = t.context;
    const api = await createApi(vault);
    const proxy = await startTcpProxy(vault.databases.app);
    t.teardown(() => proxy.close());
    const replica = await startReplica(vault, { DATABASE_URL: proxy.url });
    t.teardown(() => replica.process.stop());
    const paused = await pauseCommits(vault, 'upload_sessions');
    const lost = sendTo(replica.baseUrl, api, '/v1/uploads', fileOf(10), 'key');
    await untilWaiting(vault, 1);
    await proxy.close();
    t.is((await lost).status, 503);
    await paused.end();
    await untilOver(sql, 'the commit');

    const answer = await underKey(api, '/v1/uploads', fileOf(10), 'key')();
    t.true(isReplay(answer), JSON.stringify(answer.body));
    const part = await putPart(api, String(answer.body.sessionId), 1, bytesOf(10));
    t.is(part.status, 200, JSON.stringify(part.body));
  },
);

test.serial(
  'a request that died before its commit is executed again after its lease',
  async (t) => {
    const { sql, vault } = t.context;
    const api = await createApi(vault);
    const replica = await startReplica(vault);
    const paused = await pauseAt(vault, 'insert on upload_sessions');
    const lost = sendTo(replica.baseUrl, api, '/v1/uploads', fileOf(10), 'key');
    await untilWaiting(vault, 1);
    replica.process.kill('SIGKILL');
    await t.throwsAsync(lost);
    await paused.end();
    await untilOver(sql, 'the rollback');

    const send = underKey(api, '/v1/uploads', fileOf(10), 'key');
    t.is(codeOf(await send()), '409 idempotency_in_progress');
    await sql('update idempotency_keys set claimed_until = now() where user_id = $1', [
      api.caller.userId,
    ]);
    t.is(
      codeOf(await underKey(api, '/v1/uploads', fileOf(11), 'key')()),
      '409 idempotency_key_reused',
    );
    const answer = await send();
    t.is(answer.status, 201);
    t.false(isReplay(answer));
    const rows = await sql('select id from upload_sessions where user_id = $1', [
      api.caller.userId,
    ]);
    t.deepEqual(rows, [{ id: answer.body.sessionId }]);
  },
);

test.serial(
  'of two requests that both hold the key only the one with the newer lease commits',
  async (t) => {
    const { sql, vault } = t.context;
    const api = await createApi(vault);
    const paused = await pauseAt(vault, 'insert on upload_sessions');
    const send = underKey(api, '/v1/uploads', fileOf(10), 'key');
    const slow = send();
    await untilWaiting(vault, 1);
    await sql('update idempotency_keys set claimed_until = now() where user_id = $1', [
      api.caller.userId,
    ]);
    const next = send();
    await untilWaiting(vault, 2);
    await paused.end();
    t.is(codeOf(await slow), '409 idempotency_in_progress');
    const answer = await next;
    t.is(answer.status, 201);
    const rows = await sql('select id from upload_sessions where user_id = $1', [
      api.caller.userId,
    ]);
    t.deepEqual(rows, [{ id: answer.body.sessionId }]);
    t.deepEqual(
      await keysOf(sql, api),
      [{ status: 201 }],
      'the slow request did not release the key',
    );
  },
);
