import { Client } from 'pg';
import type { Reach } from '../../../app/accounts/reach.ts';
import type { DatabaseUrls } from '../../../app/dev/postgres/database.ts';
import { openDatabase, type Database, type Tx } from '../../../app/db/database.ts';
import { countJobs, selectFailed, selectOld } from '../../../app/jobs/operation/finished-jobs.ts';
import { readStats } from '../../../app/jobs/operation/stats.ts';
import { percentile, round } from '../harness/bench.ts';

const sizes = { few: 10_000, many: 1_000_000 };
const reads = 400;
const warmUps = 50;
const month = 30 * 86_400;
const tenantId = 'default';
const reach: Reach = { tenantId };

/** The statements of the operators' lists, as their routes run them. */
const lists: Readonly<Record<string, (tx: Tx) => Promise<unknown>>> = {
  stats: (tx) => readStats(tx, reach),
  failed: async (tx) => {
    const reader = { userId: '00000000-0000-0000-0000-000000000000', tenantId, reach };
    const failed = selectFailed(tx, reader, {
      retryable: undefined,
      type: undefined,
      since: undefined,
    });
    await failed.select(['id', 'error']).orderBy('finished_at', 'desc').limit(100).execute();
    await countJobs(tx, failed);
  },
  purgeable: async (tx) => {
    const old = selectOld(tx, reach, month);
    await old.select(['id', 'state']).orderBy('finished_at').limit(100).execute();
    await countJobs(tx, old);
  },
};

type Urls = Pick<DatabaseUrls, 'service' | 'admin'>;

/**
 * Measures the p95 of each list in a database with ten thousand jobs and in one with a million,
 * which take turns. Returns the ratios, such as `statsGrowth`.
 */
export async function measureGrowth(
  databases: { readonly few: Urls; readonly many: Urls },
  progress: (line: string) => void,
): Promise<Record<string, number>> {
  const open = async ({ service: url, admin }: Urls, size: number) => {
    await fill(admin, size);
    return openDatabase({ url, serviceUrl: url, poolSize: 2 });
  };
  const few = await open(databases.few, sizes.few);
  const many = await open(databases.many, sizes.many);
  const ratios: Record<string, number> = {};
  for (const [name, read] of Object.entries(lists)) {
    const times = { few: [] as number[], many: [] as number[] };
    for (let turn = 0; turn < warmUps + reads; turn++) {
      const [ofFew, ofMany] = [await timeOf(few, read), await timeOf(many, read)];
      if (turn < warmUps) continue;
      times.few.push(ofFew);
      times.many.push(ofMany);
    }
    const [p95Few, p95Many] = [percentile(times.few, 0.95), percentile(times.many, 0.95)];
    progress(`${name}: p95 ${round(p95Few, 2)} ms, with many jobs ${round(p95Many, 2)} ms`);
    ratios[`${name}Growth`] = round(p95Many / p95Few, 2);
  }
  await Promise.all([few.close(), many.close()]);
  return ratios;
}

async function timeOf(db: Database, read: (tx: Tx) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await db.asService(read);
  return performance.now() - startedAt;
}

/** Adds jobs that are over until there are `size`: a tenth failed, half of them old enough. */
async function fill(adminUrl: string, size: number): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(
    `insert into jobs (id, user_id, tenant_id, type, request_id, submitted_at, available_at)
     select uuidv7(), gen_random_uuid(), $2, 'NO_OP', gen_random_uuid(), now(), now()
     from generate_series(1, $1 - (select count(1) from jobs))`,
    [size, tenantId],
  );
  await client.query(
    `update jobs set state = case when random() < 0.1 then 'FAILED' else 'COMPLETED' end,
       finished_at = now() - random() * interval '60 days', error = 'away', retryable = true
     where finished_at is null`,
  );
  await client.query('vacuum analyze jobs');
  await client.end();
}
