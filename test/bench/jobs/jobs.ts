import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { z } from 'zod';
import { createDatabase, databaseUrls } from '../../../app/dev/postgres/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { jobType } from '../../../app/jobs/types/job-type.ts';
import { startJobSystem } from '../../support/jobs/job-system.ts';
import type { TestStack } from '../../support/vault/stack.ts';
import { median, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { startBareJobs } from './bare-jobs.ts';
import { measureGrowth } from './growth.ts';

const jobsPerRound = 4_000;
const warmUps = 1_000;
const rounds = 3;
/** Number of submissions, of users of their own, that are under way at a time. */
const submitters = 32;
const concurrency = 32;

/**
 * Measures jobs a second, from the service's submitting call to the stored result, against bare
 * BullMQ with a no-op and one insert and two updates a job by bare pg. Then measures whether the
 * operators' lists stay fast with a million jobs (`growth`, p95 over that with ten thousand).
 */
export const benchJobs: Bench = async (progress) => {
  await using stack = await startBenchStack();
  const database = await createOwnDatabase(stack);
  const rates = await measureRates(stack, database, progress);
  const [few, many] = [await createOwnDatabase(stack), await createOwnDatabase(stack)];
  const growth = await measureGrowth({ few, many }, progress);
  const [ours, reference] = [median(rates.ours), median(rates.reference)];
  return {
    ours: round(ours, 0),
    reference: round(reference, 0),
    unit: 'jobs/s',
    ratio: round(ours / reference),
    ...growth,
    jobs: jobsPerRound,
    rounds,
  };
};

async function createOwnDatabase({ postgres, templateDatabase }: TestStack) {
  const name = `bench_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name, templateDatabase);
  return databaseUrls(postgres, name);
}

async function measureRates(
  { redisUrl }: TestStack,
  { app, service, admin }: Awaited<ReturnType<typeof createOwnDatabase>>,
  progress: (line: string) => void,
) {
  let done = 0;
  const system = await startJobSystem({
    url: app,
    serviceUrl: service,
    redisUrl,
    vault: randomUUID(),
    types: [noOp],
    poolSize: 20,
    checksLocks: false,
  });
  system.startWorker();
  await using bare = await startBareJobs({ databaseUrl: admin, redisUrl, concurrency });
  const client = new Client({ connectionString: admin });
  await client.connect();
  const countDone = async () => {
    const { rows } = await client.query<{ count: number }>(
      "select coalesce(sum(count), 0)::int as count from job_totals where state = 'COMPLETED'",
    );
    return rows[0]?.count ?? 0;
  };
  const runOurs = async (jobs: number) => {
    done += jobs;
    const submit = async () => void (await system.submit('NO_OP'));
    return measure(jobs, submit, async () => (await countDone()) >= done);
  };
  const runBare = (jobs: number) => {
    const goal = bare.done() + jobs;
    return measure(jobs, bare.submit, async () => bare.done() >= goal);
  };
  await runOurs(warmUps);
  await runBare(warmUps);
  const found = { ours: [] as number[], reference: [] as number[] };
  for (let turn = 1; turn <= rounds; turn++) {
    found.ours.push(await runOurs(jobsPerRound));
    found.reference.push(await runBare(jobsPerRound));
    const [ours = 0, reference = 0] = [found.ours.at(-1), found.reference.at(-1)];
    progress(`round ${turn}: ours ${round(ours, 0)}/s, reference ${round(reference, 0)}/s`);
  }
  await client.end();
  await system.stop();
  return found;
}

const noOp = jobType({
  name: 'NO_OP',
  payload: z.unknown(),
  result: z.strictObject({}),
  concurrency,
  timeLimitSeconds: 60,
  maxAttempts: 3,
  erasesPayload: false,
  prepare: async () => ({}),
  run: async () => ({ result: {} }),
});

/** Submits jobs and returns how many a second are done, by the time when all of them are. */
async function measure(
  jobs: number,
  submit: () => Promise<void>,
  isDone: () => Promise<boolean>,
): Promise<number> {
  const startedAt = performance.now();
  let left = jobs;
  const submitAll = async () => {
    while (left-- > 0) await submit();
  };
  await Promise.all(Array.from({ length: submitters }, submitAll));
  await until(isDone, { what: 'all jobs', timeoutMs: 120_000, intervalMs: 20 });
  return (jobs / (performance.now() - startedAt)) * 1_000;
}
