import { randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';

interface BareOptions {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly concurrency: number;
}

/** BullMQ with a no-op and a row for each job, without any of what the vault adds. */
export interface BareJobs extends AsyncDisposable {
  /** Inserts a row and adds its entry; resolves once both are acknowledged. */
  submit(): Promise<void>;
  /** Returns the number of jobs whose second update has been acknowledged. */
  done(): number;
}

export async function startBareJobs(options: BareOptions): Promise<BareJobs> {
  const pool = new Pool({ connectionString: options.databaseUrl, max: 20 });
  await pool.query('create table bare_jobs (id uuid primary key, state text, result text)');
  const redis = new Redis(options.redisUrl, { maxRetriesPerRequest: null });
  const name = randomUUID();
  const removal = { removeOnComplete: true, removeOnFail: true };
  const queue = new Queue(name, { connection: redis, defaultJobOptions: removal });
  let done = 0;
  const worker = new Worker(
    name,
    async ({ id }) => {
      await pool.query("update bare_jobs set state = 'ACTIVE' where id = $1", [id]);
      await pool.query("update bare_jobs set state = 'DONE', result = '{}' where id = $1", [id]);
      done += 1;
    },
    { connection: redis, concurrency: options.concurrency },
  );
  await worker.waitUntilReady();
  return {
    async submit() {
      const id = randomUUID();
      await pool.query("insert into bare_jobs values ($1, 'PENDING', null)", [id]);
      await queue.add('job', {}, { jobId: id });
    },
    done: () => done,
    async [Symbol.asyncDispose]() {
      await worker.close();
      await queue.close();
      redis.disconnect();
      await pool.query('drop table bare_jobs');
      await pool.end();
    },
  };
}
