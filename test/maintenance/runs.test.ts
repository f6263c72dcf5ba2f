import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { dump } from '../support/accounts/purge-vault.ts';
import { assertError } from '../support/http/error-body.ts';
import { send } from '../support/http/send.ts';
import { storeDocument } from '../support/documents/documents.ts';
import { createApi } from '../support/documents/uploads.ts';
import { bytesOf, upload } from '../support/documents/files.ts';
import { startReplica } from '../support/documents/replica.ts';
import {
  entriesOf,
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';
import { insertOverdue } from './uploads-in-bulk.ts';
import { appending } from '../support/audit/log-rows.ts';

const test = anyTest as TestFn<MaintenanceVault>;

test.before(async (t) => {
  t.context = await startMaintenanceVault();
});
test.afterEach.always((t) => t.context.untilDone());
test.after.always((t) => t.context.stop());

const tasks = [
  'expire-uploads',
  'expire-documents',
  'collect-garbage',
  'drain-outbox',
  'purge-jobs',
] as const;
const nothing = { expiredSessions: 0, removedFiles: 0, removedSessions: 0 };
const running = { status: 409, code: 'maintenance_running' };

test.serial('a report has the task, its time and its counts', async (t) => {
  for (const task of tasks) {
    for (const dryRun of [false, true]) {
      const { status, body, text } = await t.context.run(task, `?dryRun=${dryRun}`);
      t.is(status, 200, text);
      t.like(body, { task, dryRun });
      const { startedAt, completedAt } = body as Record<string, string>;
      t.regex(String(startedAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      t.true(String(startedAt) <= String(completedAt));
    }
  }
  t.deepEqual(await entriesOf(t.context.sql, { action: 'maintenance.ran' }), []);
});

test.serial('a run works in batches, and each that changes rows leaves one entry', async (t) => {
  const { sql, counts } = t.context;
  const userId = await insertOverdue(sql, 250);
  t.deepEqual(await counts('expire-uploads'), { ...nothing, expiredSessions: 250 });
  const states = await sql('select distinct status from upload_sessions where user_id = $1', [
    userId,
  ]);
  t.deepEqual(states, [{ status: 'EXPIRED' }]);
  const expired = await entriesOf(sql, { action: 'upload.expired' });
  t.is(expired.length, 250);
  t.true(expired.every(({ owner, seq }) => owner === userId && seq === 1));

  const entries = await entriesOf(sql, { action: 'maintenance.ran' });
  t.deepEqual(
    entries.map(({ seq, data }) => [seq, data['expiredSessions']]),
    [
      [1, 100],
      [2, 100],
      [3, 50],
    ],
  );
  t.is(new Set(entries.map(({ resourceId }) => resourceId)).size, 1);
  t.like(entries[0], {
    owner: '00000000-0000-0000-0000-000000000000',
    actor: { type: 'system', id: 'test-admin' },
    data: { task: 'expire-uploads' },
  });
});

test.serial('a dry run reports the same counts and changes nothing', async (t) => {
  const { vault, sql, counts, untilDone } = t.context;
  const api = await createApi(vault);
  await insertOverdue(sql, 120);
  await insertOverdue(sql, 3);
  await sql(
    `update upload_sessions set status = 'EXPIRED', expires_at = now() - interval '7 days'
     where id in (select id from upload_sessions where status = 'IN_PROGRESS' limit 5)`,
  );
  await upload(t, api, bytesOf(3));
  const document = await storeDocument(t, api);
  await sql(
    `update upload_sessions set completed_at = now() - interval '1 day'
    where completed_at is not null`,
  );
  await sql(
    "update document_versions set created_at = now() - interval '1 year' where document_id = $1",
    [document.id],
  );
  await untilDone();
  for (const [task, found] of [
    ['expire-uploads', { expiredSessions: 118, removedFiles: 1, removedSessions: 5 }],
    ['expire-documents', { expiredVersions: 1 }],
  ] as const) {
    const before = await dump(sql);
    t.deepEqual(await counts(task, '?dryRun=true'), found);
    const after = await dump(sql);
    for (const [table, text] of after) {
      // Audit tables are excluded, as the sealer keeps signing earlier entries.
      // So are the lock and the record of runs, which a dry run has too.
      if (!/^(?:audit_|maintenance_(?:locks|runs)$)/.test(table))
        t.is(text, before.get(table) ?? '', table);
    }
    t.deepEqual(await counts(task), found);
  }
});

test.serial('a task runs only once at a time across all replicas', async (t) => {
  const { vault, sql, keys, run, counts } = t.context;
  const replica = await startReplica(vault, { INTERNAL_API_KEYS_FILE: keys.path });
  t.teardown(() => replica.process.stop());
  const elsewhere = (task: string) =>
    send('POST', `${replica.baseUrl}/v1/internal/maintenance/${task}`, {
      headers: { 'X-Internal-Api-Key': keys.admin },
    });
  await insertOverdue(sql, 3);
  const paused = await pauseAt(vault, 'update on upload_sessions');
  const first = run('expire-uploads');
  await untilWaiting(vault, 1);
  for (const answer of [
    await run('expire-uploads'),
    await run('expire-uploads', '?dryRun=true'),
    await elsewhere('expire-uploads'),
  ]) {
    assertError(t, answer, running);
    t.truthy(answer.headers.get('retry-after'));
  }
  t.is((await elsewhere('collect-garbage')).status, 200, 'another task may run');
  await paused.end();
  t.like((await first).body, { expiredSessions: 3 });
  t.is((await elsewhere('expire-uploads')).status, 200);
  t.deepEqual(await counts('expire-uploads'), nothing);
});

test.serial('a run whose process dies frees its lock, and the next run goes on', async (t) => {
  const { vault, sql, keys, run } = t.context;
  const replica = await startReplica(vault, { INTERNAL_API_KEYS_FILE: keys.path });
  const userId = await insertOverdue(sql, 250);
  const paused = await pauseAt(vault, 'insert on outbox');
  const lost = send('POST', `${replica.baseUrl}/v1/internal/maintenance/expire-uploads`, {
    headers: { 'X-Internal-Api-Key': keys.admin },
  });
  await untilWaiting(vault, 1);
  replica.process.kill('SIGKILL');
  await t.throwsAsync(lost);
  await paused.end();
  assertError(t, await run('expire-uploads'), running);
  // The lease of the dead process would end after 15 s.
  await sql('update maintenance_locks set held_until = now()');
  const next = await run('expire-uploads');
  t.is(next.status, 200, next.text);
  const { expiredSessions } = next.body as Record<string, unknown>;
  const entries = await entriesOf(sql, { action: 'upload.expired' });
  const own = entries.filter(({ owner }) => owner === userId);
  t.is(own.length, 250);
  t.true(own.every(({ seq }) => seq === 1));
  t.true([150, 250].includes(Number(expiredSessions)));
});

test.serial('only an internal API key with the admin right opens the routes', async (t) => {
  const { vault, keys } = t.context;
  const admin = await createApi(vault, { roles: ['user', 'operator', 'probatio_admin'] });
  for (const task of tasks) {
    const path = `/v1/internal/maintenance/${task}`;
    const url = vault.baseUrl + path;
    const ask = (key: string) => send('POST', url, { headers: { 'X-Internal-Api-Key': key } });
    assertError(t, await ask('jam'), { status: 401, code: 'invalid_api_key' });
    assertError(t, await ask(keys.plain), { status: 403, code: 'access_denied' });
    t.is((await admin.send('POST', path)).status, 401);
    assertError(t, await send('POST', `${vault.baseUrl}/api${path}`), {
      status: 404,
      code: 'not_found',
    });
    for (const query of ['?dryRun=1', '?dryRun=', '?dryRun=True', '?jam=true']) {
      assertError(t, await t.context.run(task, query), { status: 400, code: 'validation_failed' });
    }
  }
});

test.serial('with a full audit backlog a run changes nothing and a dry run counts', async (t) => {
  const full = await startMaintenanceVault({
    AUDIT_BACKLOG_LIMIT: '1',
    SIGNER_SOCKET_PATH: '/nowhere/signer.sock',
  });
  t.teardown(() => full.stop());
  await insertOverdue(full.sql, 3);
  await full.sql(
    appending(`
     select uuidv7(), gen_random_uuid(), 'default', 'a', n, 1, 'a', '{}'
     from generate_series(1, 3) n`),
  );
  const isFull = async () => (await full.run('expire-documents')).status === 503;
  await until(isFull, { what: 'the backlog to be noticed', timeoutMs: 60_000 });
  const refused = { status: 503, code: 'audit_backlog_full' };
  assertError(t, await full.run('expire-uploads'), refused);
  assertError(t, await full.run('collect-garbage'), refused);
  const states = await full.sql('select distinct status from upload_sessions');
  t.deepEqual(states, [{ status: 'IN_PROGRESS' }]);
  t.like(await full.counts('expire-uploads', '?dryRun=true'), { expiredSessions: 3 });
});

test.serial('a draining process starts no batch', async (t) => {
  const stopping = await startMaintenanceVault();
  t.teardown(() => stopping.stop());
  await insertOverdue(stopping.sql, 3);
  stopping.vault.services.beginDrain();
  assertError(t, await stopping.run('expire-uploads'), { status: 503, code: 'shutting_down' });
  const states = await stopping.sql('select distinct status from upload_sessions');
  t.deepEqual(states, [{ status: 'IN_PROGRESS' }]);
});
