import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { insertExpired } from '../support/accounts/purge-vault.ts';
import { assertError } from '../support/http/error-body.ts';
import { send } from '../support/http/send.ts';
import { createApi } from '../support/documents/uploads.ts';
import { startReplica } from '../support/documents/replica.ts';
import {
  entriesOf,
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';
import { putInDlq } from '../support/audit/unsealed.ts';
import { insertOverdue } from './uploads-in-bulk.ts';
import { appending } from '../support/audit/log-rows.ts';

const test = anyTest as TestFn<MaintenanceVault>;

test.before(async (t) => {
  t.context = await startMaintenanceVault();
});
test.after.always((t) => t.context.stop());

interface Run {
  readonly id: string;
  readonly dryRun: boolean;
  readonly requestedBy: string;
  readonly state: string;
  readonly error: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly startedAt: string;
  readonly endedAt: string | null;
}

interface TaskStatus {
  readonly task: string;
  readonly lastRun: Run | null;
  readonly lastSuccess: Run | null;
  readonly running: Run | null;
}

interface Status {
  readonly tasks: readonly TaskStatus[];
  readonly outbox: object;
  readonly jobs: object;
  readonly backlog: { readonly unsigned: number; readonly oldestAt: string | null };
  readonly deadLetters: object;
}

const ask = ({ vault, keys }: MaintenanceVault, key = keys.admin) =>
  send('GET', `${vault.baseUrl}/v1/internal/maintenance`, {
    headers: { 'X-Internal-Api-Key': key },
  });

async function readStatus(context: MaintenanceVault): Promise<Status> {
  const { status, body, text } = await ask(context);
  if (status !== 200) throw new Error(text);
  return body as Status;
}

async function statusOf(context: MaintenanceVault, task: string): Promise<TaskStatus> {
  const { tasks } = await readStatus(context);
  const found = tasks.find((one) => one.task === task);
  if (found === undefined) throw new Error(`there is no task ${task}`);
  return found;
}

test.serial('a task that never ran is listed without runs', async (t) => {
  const { tasks, outbox, deadLetters } = await readStatus(t.context);
  t.true(tasks.length > 5);
  const none = { lastRun: null, lastSuccess: null, running: null };
  for (const { task, ...runs } of tasks) t.deepEqual(runs, none, task);
  t.deepEqual(outbox, { waiting: 0, oldestAt: null, parked: {} });
  t.deepEqual(deadLetters, { pending: 0, oldestAt: null });
});

test.serial('a run that succeeds is recorded with its counts and its entries', async (t) => {
  const { sql, run } = t.context;
  await insertOverdue(sql, 150);
  const report = (await run('expire-uploads')).body as Record<string, unknown>;
  const { lastRun, lastSuccess, running } = await statusOf(t.context, 'expire-uploads');
  t.is(running, null);
  t.deepEqual(lastSuccess, lastRun);
  const { id, startedAt, endedAt, ...rest } = lastRun as Run;
  t.deepEqual(rest, {
    dryRun: false,
    requestedBy: 'test-admin',
    state: 'SUCCEEDED',
    error: null,
    counts: { expiredSessions: 150, removedFiles: 0, removedSessions: 0 },
  });
  t.deepEqual([startedAt, endedAt], [report['startedAt'], report['completedAt']]);
  const entries = await entriesOf(sql, { resource: id });
  t.deepEqual(
    entries.map(({ data }) => data['expiredSessions']),
    [100, 50],
  );
});

test.serial('a dry run is recorded, and hides no real run', async (t) => {
  const { sql, run } = t.context;
  const before = await statusOf(t.context, 'expire-uploads');
  await insertOverdue(sql, 3);
  await run('expire-uploads', '?dryRun=true');
  t.deepEqual(await statusOf(t.context, 'expire-uploads'), before);
  const [row] = await sql(
    'select dry_run, counts, error from maintenance_runs order by id desc limit 1',
  );
  const counts = { expiredSessions: 3, removedFiles: 0, removedSessions: 0 };
  t.deepEqual(row, { dry_run: true, counts: JSON.stringify(counts), error: null });
});

test.serial('a run that fails is recorded with its error, and hides no success', async (t) => {
  const { sql, run } = t.context;
  await insertOverdue(sql, 3);
  const { lastSuccess } = await statusOf(t.context, 'expire-uploads');
  await sql('alter table upload_sessions add constraint refused check (false) not valid');
  const failed = await run('expire-uploads');
  await sql('alter table upload_sessions drop constraint refused');
  assertError(t, failed, { status: 500, code: 'internal_error' });
  const after = await statusOf(t.context, 'expire-uploads');
  t.like(after.lastRun, { state: 'FAILED', error: 'internal_error' });
  t.truthy(after.lastRun?.endedAt);
  t.deepEqual(after.lastSuccess, lastSuccess);
  t.is((await run('expire-uploads')).status, 200);
  const { lastRun, lastSuccess: again } = await statusOf(t.context, 'expire-uploads');
  t.is(lastRun?.state, 'SUCCEEDED');
  t.deepEqual(again, lastRun);
});

test.serial(
  'a run is shown while it lasts, and as interrupted once its process died',
  async (t) => {
    const { vault, sql, keys, run } = t.context;
    const replica = await startReplica(vault, { INTERNAL_API_KEYS_FILE: keys.path });
    await insertOverdue(sql, 250);
    const { lastSuccess } = await statusOf(t.context, 'expire-uploads');
    const paused = await pauseAt(vault, 'insert on outbox');
    const lost = send('POST', `${replica.baseUrl}/v1/internal/maintenance/expire-uploads`, {
      headers: { 'X-Internal-Api-Key': keys.admin },
    });
    await untilWaiting(vault, 1);
    const during = await statusOf(t.context, 'expire-uploads');
    t.like(during.running, { state: 'RUNNING', error: null, endedAt: null });
    t.deepEqual(during.lastRun, during.running);
    replica.process.kill('SIGKILL');
    await t.throwsAsync(lost);
    await paused.end();
    // The leases of the dead process would end after 15 s.
    await sql('update maintenance_locks set held_until = now()');
    await sql('update maintenance_runs set held_until = now() where held_until is not null');
    const after = await statusOf(t.context, 'expire-uploads');
    t.is(after.running, null);
    t.like(after.lastRun, { id: during.running?.id ?? '', state: 'INTERRUPTED', endedAt: null });
    t.deepEqual(after.lastSuccess, lastSuccess);
    t.is((await run('expire-uploads')).status, 200);
    t.is((await statusOf(t.context, 'expire-uploads')).lastRun?.state, 'SUCCEEDED');
  },
);

test.serial(
  'a run that a stopping process ends is interrupted, and keeps its counts',
  async (t) => {
    const stopping = await startMaintenanceVault();
    t.teardown(() => stopping.stop());
    await insertOverdue(stopping.sql, 150);
    const paused = await pauseAt(stopping.vault, 'insert on outbox');
    const run = stopping.run('expire-uploads');
    await untilWaiting(stopping.vault, 1);
    stopping.vault.services.beginDrain();
    await paused.end();
    assertError(t, await run, { status: 503, code: 'shutting_down' });
    const [row] = await stopping.sql('select error, counts, ended_at from maintenance_runs');
    t.is(row?.['error'], 'shutting_down');
    t.truthy(row?.['ended_at']);
    t.is((JSON.parse(String(row?.['counts'])) as Run['counts'])['expiredSessions'], 100);
    const { lastRun, lastSuccess } = await statusOf(stopping, 'expire-uploads');
    t.is(lastRun?.state, 'INTERRUPTED');
    t.is(lastSuccess, null);
  },
);

test.serial('a run that is refused, since another one lasts, is no run', async (t) => {
  const { vault, sql, run } = t.context;
  await insertOverdue(sql, 3);
  const paused = await pauseAt(vault, 'update on upload_sessions');
  const first = run('expire-uploads');
  await untilWaiting(vault, 1);
  const { running } = await statusOf(t.context, 'expire-uploads');
  assertError(t, await run('expire-uploads'), { status: 409, code: 'maintenance_running' });
  t.deepEqual((await statusOf(t.context, 'expire-uploads')).running?.id, running?.id);
  await paused.end();
  t.is((await first).status, 200);
  t.is((await statusOf(t.context, 'expire-uploads')).lastRun?.id, running?.id);
});

test.serial('the purge of accounts is recorded like every task', async (t) => {
  const { vault, sql, keys } = t.context;
  await insertExpired(sql, 2);
  const answer = await send('POST', `${vault.baseUrl}/v1/auth/purge/expired`, {
    headers: { 'X-Internal-Api-Key': keys.admin },
  });
  t.like(answer.body, { purgedAccounts: 2 });
  const { lastRun, lastSuccess } = await statusOf(t.context, 'purge-accounts');
  t.like(lastRun, {
    state: 'SUCCEEDED',
    counts: { purgedAccounts: 2, removedAuditTraces: 2, removedEmails: 2 },
  });
  t.deepEqual(lastSuccess, lastRun);
});

test.serial('the status counts the outbox, jobs, unsigned entries and dead letters', async (t) => {
  const { sql } = t.context;
  const jobs = await readStatus(t.context);
  await sql(
    `insert into outbox (id, kind, payload, available_at, parked_at, created_at)
     select gen_random_uuid(), kind, '{}', now() + interval '1 day', parked_at::timestamptz,
       '2026-01-01'::timestamptz + n * interval '1 day'
     from (values (1, 'email', null), (2, 'email', null), (3, 'email', '2026-02-01'),
       (0, 'object.delete', '2026-02-01'), (4, 'email', '2026-02-02')) v (n, kind, parked_at)`,
  );
  await sql(
    `insert into jobs (id, user_id, tenant_id, type, request_id, available_at)
     select gen_random_uuid(), gen_random_uuid(), 'tenant-' || n, 'EMAIL_VALIDATION',
       gen_random_uuid(), now() + interval '1 day' from generate_series(1, 3) n`,
  );
  await sql(
    `do $$ begin
       ${appending(`
       select uuidv7(), gen_random_uuid(), 'default', 'a', n, 1, 'a', '{}'
       from generate_series(1, 3) n`)};
       update audit_queue set claimed_until = 'infinity'
       where entry_id in (select id from audit_entries where resource_type = 'a');
     end $$`,
  );
  const [dead] = await sql(
    "select id from audit_entries where resource_type = 'a' and resource_id = '3'",
  );
  await putInDlq(sql, [dead?.['id']]);
  await sql("update audit_dead_letters set created_at = '2026-03-01T00:00:00Z'");
  const status = await until(
    async () => {
      const now = await readStatus(t.context);
      return now.backlog.unsigned === 2 && now;
    },
    { what: 'all other entries to be signed', timeoutMs: 60_000 },
  );
  t.deepEqual(status.outbox, {
    waiting: 2,
    oldestAt: '2026-01-02T00:00:00.000Z',
    parked: { email: 2, 'object.delete': 1 },
  });
  t.deepEqual(status.jobs, { ...jobs.jobs, pending: 3 });
  const [oldest] = await sql("select min(created_at) from audit_entries where state = 'PENDING'");
  t.deepEqual(new Date(status.backlog.oldestAt ?? 0), oldest?.['min']);
  t.deepEqual(status.deadLetters, { pending: 1, oldestAt: '2026-03-01T00:00:00.000Z' });
});

test.serial('only an internal API key with the admin right sees the status', async (t) => {
  const { vault, keys } = t.context;
  const path = '/v1/internal/maintenance';
  assertError(t, await ask(t.context, 'jam'), { status: 401, code: 'invalid_api_key' });
  assertError(t, await ask(t.context, keys.plain), { status: 403, code: 'access_denied' });
  const admin = await createApi(vault, { roles: ['user', 'operator', 'probatio_admin'] });
  t.is((await admin.send('GET', path)).status, 401);
  assertError(
    t,
    await send('GET', `${vault.baseUrl}${path}?jam=true`, {
      headers: { 'X-Internal-Api-Key': keys.admin },
    }),
    { status: 400, code: 'validation_failed' },
  );
});
