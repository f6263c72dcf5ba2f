import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { Redis } from 'ioredis';
import { systemClock } from '../../../app/async/clock.ts';
import { createAct } from '../../../app/audit-trail/act.ts';
import { createAuditTrail } from '../../../app/audit-trail/audit-trail.ts';
import { openDatabase, type Database } from '../../../app/db/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import type { Caller } from '../../../app/http/requests/caller.ts';
import { createJobs, type Jobs } from '../../../app/jobs/jobs.ts';
import { openJobQueue, type JobQueue } from '../../../app/jobs/queue/queue.ts';
import type { JobType } from '../../../app/jobs/types/job-type.ts';
import { startJobWorker, type JobWorker } from '../../../app/jobs/worker/worker.ts';
import type { RateLimits } from '../../../app/limits/rate-limits.ts';
import { connectRedis } from '../../../app/redis/redis.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { serviceRequest } from '../http/service-request.ts';
import { testIssuer } from '../vault/stack.ts';
import { unlimited } from '../vault/unlimited.ts';

interface Urls {
  readonly url: string;
  readonly serviceUrl: string;
  readonly redisUrl: string;
}

interface JobSystemOptions extends Urls {
  /** Names the queue, so that systems can share a Redis. */
  readonly vault: string;
  readonly types: readonly JobType[];
  readonly poolSize?: number;
  /** Checks the order of locks, as development does; true by default. */
  readonly checksLocks?: boolean;
}

/** The services of jobs of one process, with types of jobs of its own, and without HTTP. */
export interface JobSystem {
  readonly db: Database;
  readonly redis: Redis;
  readonly queue: JobQueue;
  readonly jobs: Jobs;
  readonly logLines: readonly string[];
  startWorker(): JobWorker;
  /** Submits a job of a new user, or of this one, and resolves with its id. */
  submit(type: string, payload?: object, userId?: string): Promise<string>;
  stop(): Promise<void>;
}

const noLimits: RateLimits = {
  consume: async () => undefined,
  tryConsume: async () => true,
  assertLeft: async () => undefined,
  giveBack: async () => undefined,
};

export async function startJobSystem(options: JobSystemOptions): Promise<JobSystem> {
  const { url, serviceUrl, redisUrl, vault, poolSize = 8, checksLocks = true } = options;
  const logLines: string[] = [];
  const log = createLog('info', { write: (line) => void logLines.push(line) });
  const db = await openDatabase({ url, serviceUrl, poolSize, checksLocks });
  const redis = connectRedis(redisUrl, log);
  const types = new Map(options.types.map((type) => [type.name, type]));
  const audit = createAuditTrail({
    issuer: testIssuer,
    clock: systemClock,
    assertClock: () => undefined,
    onCommitted: () => undefined,
    isBacklogFull: () => false,
  });
  const act = createAct({ db, audit, plans: unlimited });
  const queue = openJobQueue({ redis, vault, types: [...types.keys()] });
  const jobs = createJobs({ db, act, queue, limits: noLimits, types });
  await until(() => isAnswering(queue, options.types), { what: 'Redis', timeoutMs: 60_000 });
  const workers: JobWorker[] = [];
  return {
    db,
    redis,
    queue,
    jobs,
    logLines,
    startWorker() {
      const worker = startJobWorker({ db, audit, queue, types, log });
      workers.push(worker);
      return worker;
    },
    async submit(type, payload = {}, userId = randomUUID()) {
      const { jobId } = await jobs.submit(serviceRequest(callerOf(userId)), { type, payload });
      return jobId;
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
      queue.close();
      redis.disconnect();
      await db.close();
    },
  };
}

async function isAnswering(queue: JobQueue, types: readonly JobType[]): Promise<boolean> {
  const entry = { type: types[0]?.name ?? '', id: randomUUID() };
  return queue.remove(entry).then(
    () => true,
    () => false,
  );
}

export function callerOf(userId: string): Caller {
  return {
    userId,
    tenantId: 'default',
    plan: 'standard',
    roles: ['user'],
    scopes: ['jobs:submit'],
    sessionId: undefined,
    issuer: testIssuer,
    expiresAt: new Date(Date.now() + 3_600_000),
  };
}

/** Reads a job's row. */
export function readRow(db: Database, id: string) {
  return db.asService((tx) =>
    tx.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst(),
  );
}

/** Resolves with a job's row once it is in one of the states. */
export function untilState(db: Database, id: string, ...states: string[]) {
  return until(
    async () => {
      const row = await readRow(db, id).catch(() => undefined);
      return row !== undefined && states.includes(row.state) ? row : undefined;
    },
    { what: `a job to be ${states.join(' or ')}`, timeoutMs: 120_000 },
  );
}

/** Resolves with every job's row once all jobs are over. */
export async function untilAllOver(t: ExecutionContext, db: Database, timeoutMs: number) {
  await until(
    async () => {
      const open = await db.asService((tx) =>
        tx
          .selectFrom('jobs')
          .select(({ fn }) => fn.count<number>('id').as('count'))
          .where('state', 'in', ['PENDING', 'ACTIVE'])
          .executeTakeFirstOrThrow(),
      );
      return open.count === 0;
    },
    { what: 'all jobs to be over', timeoutMs, intervalMs: 100 },
  );
  t.pass();
}
