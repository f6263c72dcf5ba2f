import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import test, { type ExecutionContext } from 'ava';
import { assertError } from '../support/http/error-body.ts';
import { startOwnRedis } from '../support/network/own-redis.ts';
import {
  entriesOf,
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';

async function startVault(t: ExecutionContext) {
  const redis = await startOwnRedis(t);
  const vault = await startMaintenanceVault({ REDIS_URL: redis.url });
  t.teardown(() => vault.stop());
  return { ...vault, redis };
}

interface Row {
  readonly state: 'COMPLETED' | 'FAILED' | 'RETRIED' | 'PENDING';
  /** Days since the job was over. */
  readonly days: number;
}

/** Inserts jobs, each of another tenant, and returns their ids. */
function insertJobs({ sql }: MaintenanceVault, rows: readonly Row[]): Promise<string[]> {
  return Promise.all(
    rows.map(async ({ state, days }) => {
      const id = randomUUID();
      await sql(
        `insert into jobs (id, user_id, tenant_id, type, request_id, state, submitted_at,
           available_at, finished_at)
         values ($1, gen_random_uuid(), gen_random_uuid(), 'EMAIL_VALIDATION', gen_random_uuid(),
           $2, now() - interval '1 year', now() + interval '1 year',
           case when $2 <> 'PENDING' then now() - make_interval(days => $3) end)`,
        [id, state, days],
      );
      return id;
    }),
  );
}

const idsOf = async ({ sql }: MaintenanceVault) =>
  (await sql('select id from jobs')).map(({ id }) => String(id)).toSorted();

/** Adds entries to the queue that were added some days ago and that no worker takes up. */
async function addEntries(
  t: ExecutionContext,
  { vault, redis }: MaintenanceVault & { readonly redis: { readonly url: string } },
  entries: readonly { readonly jobId: string; readonly days: number }[],
): Promise<Queue> {
  const name = new URL(vault.databases.admin).pathname.slice(1);
  const queue = new Queue('email-validation', {
    connection: { url: redis.url },
    prefix: `jobs:${name}`,
  });
  t.teardown(() => queue.close());
  for (const { jobId, days } of entries) {
    const timestamp = Date.now() - days * 86_400_000;
    await queue.add('job', {}, { jobId, timestamp, delay: 365 * 86_400_000 });
  }
  return queue;
}

const delayed = async (queue: Queue) =>
  (await queue.getDelayed()).map(({ id }) => String(id)).toSorted();

test('jobs of all tenants that were over for 30 days are removed, and no other', async (t) => {
  const context = await startVault(t);
  const { sql, counts } = context;
  const [_old, _failed, _retried, young, fresh, pending] = await insertJobs(context, [
    { state: 'COMPLETED', days: 31 },
    { state: 'FAILED', days: 40 },
    { state: 'RETRIED', days: 400 },
    { state: 'COMPLETED', days: 29 },
    { state: 'FAILED', days: 1 },
    { state: 'PENDING', days: 0 },
  ]);
  const before = await idsOf(context);
  const found = { removedJobs: 3, removedQueueEntries: 0 };
  t.deepEqual(await counts('purge-jobs', '?dryRun=true'), found);
  t.deepEqual(await idsOf(context), before);
  t.deepEqual(await counts('purge-jobs'), found);
  t.deepEqual(await idsOf(context), [young, fresh, pending].map(String).toSorted());
  t.deepEqual(await counts('purge-jobs'), { removedJobs: 0, removedQueueEntries: 0 });
  const entries = await entriesOf(sql, { action: 'maintenance.ran' });
  t.deepEqual(
    entries.map(({ data }) => data),
    [{ task: 'purge-jobs', removedJobs: 3 }],
  );
});

test('entries of the queue go if they are 7 days old and no job needs them', async (t) => {
  const context = await startVault(t);
  const [pending = '', done = ''] = await insertJobs(context, [
    { state: 'PENDING', days: 0 },
    { state: 'COMPLETED', days: 1 },
  ]);
  const [unknown, young] = [randomUUID(), randomUUID()];
  const queue = await addEntries(t, context, [
    { jobId: pending, days: 8 },
    { jobId: done, days: 8 },
    { jobId: unknown, days: 8 },
    { jobId: young, days: 6 },
  ]);
  const found = { removedJobs: 0, removedQueueEntries: 2 };
  t.deepEqual(await context.counts('purge-jobs', '?dryRun=true'), found);
  t.deepEqual(await delayed(queue), [pending, done, unknown, young].toSorted());
  t.deepEqual(await context.counts('purge-jobs'), found);
  t.deepEqual(await delayed(queue), [pending, young].toSorted());
});

test('without Redis the jobs are removed, and the run fails', async (t) => {
  const context = await startVault(t);
  await insertJobs(context, [{ state: 'COMPLETED', days: 31 }]);
  await context.redis.kill();
  assertError(t, await context.run('purge-jobs'), { status: 503, code: 'queue_unavailable' });
  t.deepEqual(await idsOf(context), []);
  const [run] = await context.sql('select error, counts from maintenance_runs');
  t.deepEqual(run, {
    error: 'queue_unavailable',
    counts: JSON.stringify({ removedJobs: 1, removedQueueEntries: 0 }),
  });
  await context.redis.restart();
});
