import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { z } from 'zod';
import { jobType, type RunningJob } from '../../../app/jobs/types/job-type.ts';
import { startProxiedDatabase } from '../network/proxied-database.ts';
import { testStack } from '../vault/stack.ts';
import { startJobSystem } from './job-system.ts';

type Run = (job: RunningJob<unknown>) => Promise<unknown>;

/** Returns a type of jobs, `TRIAL`, whose work is `run`. */
export function trialType(
  run: Run,
  changes: { readonly timeLimitSeconds?: number; readonly maxAttempts?: number } = {},
) {
  return jobType({
    name: 'TRIAL',
    payload: z.unknown(),
    result: z.unknown(),
    concurrency: 20,
    timeLimitSeconds: 60,
    maxAttempts: 3,
    erasesPayload: false,
    prepare: async (_request, payload) => payload,
    run: async (job) => ({ result: await run(job) }),
    ...changes,
  });
}

/** Starts a job system with jobs of type `TRIAL`, its own database, and no worker yet. */
export async function startTrials(
  t: ExecutionContext,
  type: ReturnType<typeof trialType>,
  redisUrl = testStack().redisUrl,
) {
  const database = await startProxiedDatabase();
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = database.settings;
  const vault = randomUUID();
  const open = () => startJobSystem({ url, serviceUrl, redisUrl, vault, types: [type] });
  const system = await open();
  t.teardown(async () => {
    await system.stop();
    await database[Symbol.asyncDispose]();
  });
  return {
    ...system,
    vault,
    proxy: database.proxy,
    /** Opens the services of another process. */
    open,
  };
}
