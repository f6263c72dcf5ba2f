import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { createSubmitter, type Submitter } from './jobs.ts';

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

interface Row {
  readonly state: string;
  readonly days: number;
  readonly retryable?: boolean;
  readonly userId?: string;
}

/** Inserts jobs that are over since some days, and returns their ids. */
async function insertJobs(tenantId: string, rows: readonly Row[]): Promise<string[]> {
  return Promise.all(
    rows.map(async ({ state, days, retryable = true, userId = randomUUID() }) => {
      const id = randomUUID();
      await sql(
        `insert into jobs (id, user_id, tenant_id, type, request_id)
         values ($1, $2, $3, 'EMAIL_VALIDATION', gen_random_uuid())`,
        [id, userId, tenantId],
      );
      const isFailed = state !== 'COMPLETED';
      await sql(
        `update jobs set state = $2, finished_at = now() - make_interval(days => $3),
           error = $4, retryable = $5 where id = $1`,
        [id, state, days, isFailed ? 'away' : null, isFailed ? retryable : null],
      );
      return id;
    }),
  );
}

async function createOperators(): Promise<{ own: Submitter; platform: Submitter; tenant: string }> {
  const tenant = `tenant-${randomUUID()}`;
  const own = await createSubmitter(vault, { tenantId: tenant });
  const platform = await createSubmitter(vault, { roles: ['platform_operator'] });
  return { own, platform, tenant };
}

const read = async (by: Submitter, path: string) =>
  (await by.send('GET', path)).body as { jobs: Record<string, unknown>[]; total: number };

test('statistics count the jobs in reach by status', async (t) => {
  const { own, tenant } = await createOperators();
  const none = { pending: 0, active: 0, completed: 0, failed: 0, retried: 0, totalProcessed: 0 };
  t.deepEqual((await own.send('GET', '/v1/jobs/stats')).body, none);
  await insertJobs(tenant, [
    { state: 'COMPLETED', days: 1 },
    { state: 'COMPLETED', days: 40 },
    { state: 'FAILED', days: 1 },
    { state: 'RETRIED', days: 40 },
  ]);
  await sql(
    `insert into jobs (id, user_id, tenant_id, type, request_id, available_at)
     values (gen_random_uuid(), gen_random_uuid(), $1, 'EMAIL_VALIDATION', gen_random_uuid(),
       now() + interval '1 day')`,
    [tenant],
  );
  const expected = { ...none, pending: 1, completed: 2, failed: 1, retried: 1, totalProcessed: 4 };
  t.deepEqual((await own.send('GET', '/v1/jobs/stats')).body, expected);
  await own.send('DELETE', '/v1/jobs/purge?target=db');
  const after = { ...expected, completed: 1, retried: 0, totalProcessed: 2 };
  t.deepEqual((await own.send('GET', '/v1/jobs/stats')).body, after);
});

test('failed jobs are listed by their filters, those of others for operators only', async (t) => {
  const { own, platform, tenant } = await createOperators();
  const userId = randomUUID();
  const [a, b, c] = await insertJobs(tenant, [
    { state: 'FAILED', days: 3, userId },
    { state: 'FAILED', days: 2, retryable: false },
    { state: 'FAILED', days: 1 },
    { state: 'RETRIED', days: 1 },
    { state: 'COMPLETED', days: 1 },
  ]);
  const ids = async (by: Submitter, query: string) =>
    (await read(by, `/v1/jobs/failed${query}`)).jobs.map(({ jobId }) => jobId);
  t.deepEqual(await ids(own, ''), [c, b, a]);
  t.deepEqual(await ids(own, '?retryable=false'), [b]);
  t.deepEqual(await ids(own, '?retryable=true&jobType=EMAIL_VALIDATION'), [c, a]);
  const since = new Date(Date.now() - 1.5 * 86_400_000).toISOString();
  t.deepEqual(await ids(own, `?since=${since}`), [c]);
  const limited = await read(own, '/v1/jobs/failed?limit=1');
  t.like(limited, { total: 3 });
  t.like(limited.jobs[0], { jobId: c, status: 'FAILED', error: 'away', retryable: true });
  t.true((await ids(platform, '?limit=1000')).includes(b));
  const user = await createSubmitter(vault, { userId, tenantId: tenant, roles: ['user'] });
  t.deepEqual(await ids(user, ''), [a]);
  const stranger = await createSubmitter(vault, { tenantId: tenant, roles: ['user'] });
  t.deepEqual(await read(stranger, '/v1/jobs/failed'), { jobs: [], total: 0 });
});

test('a purge removes what `purgeable` lists, in the reach of its operator', async (t) => {
  const { own, platform, tenant } = await createOperators();
  const [old, older] = await insertJobs(tenant, [
    { state: 'COMPLETED', days: 31 },
    { state: 'RETRIED', days: 50 },
    { state: 'FAILED', days: 29 },
  ]);
  const [others] = await insertJobs(`${tenant}-2`, [{ state: 'COMPLETED', days: 31 }]);
  const listed = await read(own, '/v1/jobs/purgeable');
  t.deepEqual(
    listed.jobs.map(({ jobId }) => jobId),
    [older, old],
  );
  t.is(listed.total, 2);
  t.is((await read(own, '/v1/jobs/purgeable?olderThan=4w')).total, 3);
  t.is((await read(own, '/v1/jobs/purgeable?olderThan=40d')).total, 1);

  const preview = await own.send('DELETE', '/v1/jobs/purge?target=db&dryRun=true');
  t.deepEqual(preview.body, {
    target: 'db',
    olderThan: { db: '30d', redis: null },
    dryRun: true,
    purged: { db: 2, redis: 0 },
    jobs: listed.jobs,
  });
  t.is((await read(own, '/v1/jobs/purgeable')).total, 2);

  const purged = await own.send('DELETE', '/v1/jobs/purge');
  t.deepEqual(purged.body, {
    target: 'both',
    olderThan: { db: '30d', redis: '7d' },
    dryRun: false,
    purged: { db: 2, redis: 0 },
  });
  t.is((await read(own, '/v1/jobs/purgeable')).total, 0);
  t.is((await platform.send('GET', `/v1/jobs/${others}`)).status, 200);
  const entries = await entriesOf(sql, { action: 'jobs.purged' });
  const mine = entries.filter(({ actor }) => Reflect.get(actor, 'id') === own.caller.userId);
  t.deepEqual(
    mine.map(({ data }) => data),
    [{ db: 2, redis: 0 }],
  );
});
