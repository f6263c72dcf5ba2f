import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { sql } from 'kysely';
import type { Tx } from '../../app/db/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { JobFailure } from '../../app/jobs/types/job-failure.ts';
import { jobType } from '../../app/jobs/types/job-type.ts';
import { untilAllOver, readRow, untilState } from '../support/jobs/job-system.ts';
import { startTrials, trialType } from '../support/jobs/trial.ts';

test('every job of many is run once, whichever worker takes it', async (t) => {
  const runs = new Map<string, number>();
  const type = trialType(async ({ id }) => {
    runs.set(id, (runs.get(id) ?? 0) + 1);
    return { id };
  });
  const { db, submit, startWorker, open } = await startTrials(t, type);
  const other = await open();
  t.teardown(() => other.stop());
  startWorker();
  other.startWorker();
  const ids: string[] = [];
  const submitSome = async () => {
    while (ids.length < 120) ids.push(await submit('TRIAL'));
  };
  await Promise.all(Array.from({ length: 8 }, submitSome));
  await untilAllOver(t, db, 60_000);
  t.deepEqual([...runs.keys()].toSorted(), ids.toSorted());
  t.deepEqual(new Set(runs.values()), new Set([1]));
  for (const id of ids.slice(0, 5)) {
    const row = await readRow(db, id);
    t.like(row, { state: 'COMPLETED', attempts: 1, token: 1, error: null, held_until: null });
    t.deepEqual(JSON.parse(row?.result ?? ''), { id });
  }
});

const failing = (code: string, mayRetry: boolean) => async () => {
  throw new JobFailure(code, { mayRetry });
};

test('an attempt that may be retried is, after a growing pause, until the limit', async (t) => {
  const begun: number[] = [];
  const type = trialType(async () => {
    begun.push(performance.now());
    throw new JobFailure('away', { mayRetry: true });
  });
  const { db, submit, startWorker } = await startTrials(t, type);
  startWorker();
  const row = await untilState(db, await submit('TRIAL'), 'FAILED');
  t.like(row, { attempts: 3, error: 'away', retryable: true, result: null });
  const [first = 0, second = 0, third = 0] = begun;
  t.is(begun.length, 3);
  // Half of the pauses of 2 s and 4 s is random.
  t.true(second - first >= 1_000);
  t.true(third - second >= 2_000);
});

test('a failure that a retry cannot mend ends the job at once', async (t) => {
  const { db, submit, startWorker } = await startTrials(t, trialType(failing('hopeless', false)));
  startWorker();
  const row = await untilState(db, await submit('TRIAL'), 'FAILED');
  t.like(row, { attempts: 1, error: 'hopeless', retryable: false });
});

test('an error that nobody foresaw shows no text of its own', async (t) => {
  const type = trialType(
    async () => {
      throw new Error('a secret text');
    },
    { maxAttempts: 1 },
  );
  const { db, submit, startWorker } = await startTrials(t, type);
  startWorker();
  const row = await untilState(db, await submit('TRIAL'), 'FAILED');
  t.like(row, { error: 'internal_error', retryable: true });
});

test('an attempt ends at its time limit, even if its work ignores the signal', async (t) => {
  const never = Promise.withResolvers<never>();
  let signal: AbortSignal | undefined;
  const type = trialType((job) => ((signal = job.signal), never.promise), {
    timeLimitSeconds: 1,
    maxAttempts: 1,
  });
  const { db, submit, startWorker } = await startTrials(t, type);
  startWorker();
  const row = await untilState(db, await submit('TRIAL'), 'FAILED');
  t.is(row.error, 'time_limit_exceeded');
  t.true(signal?.aborted);
});

test('a shutdown interrupts a job, which another worker runs again', async (t) => {
  const begun: string[] = [];
  const type = trialType(async ({ id, signal }) => {
    begun.push(id);
    if (begun.length === 1) await pause(60_000, undefined, { signal });
    return 'done';
  });
  const { db, submit, startWorker, open } = await startTrials(t, type);
  const worker = startWorker();
  const id = await submit('TRIAL');
  await until(() => begun.length === 1, { what: 'the job to begin', timeoutMs: 60_000 });
  const startedAt = performance.now();
  await worker.stop();
  t.true(performance.now() - startedAt < 5_000);
  t.like(await readRow(db, id), { state: 'PENDING', attempts: 0, token: 1 });
  const other = await open();
  t.teardown(() => other.stop());
  other.startWorker();
  const row = await untilState(db, id, 'COMPLETED');
  t.like(row, { attempts: 1, token: 2 });
});

test('a job whose claim is under way at a shutdown is interrupted too', async (t) => {
  const type = trialType(({ signal }) => pause(60_000, undefined, { signal }));
  const { db, submit, startWorker } = await startTrials(t, type);
  const id = await submit('TRIAL');
  const locked = Promise.withResolvers<void>();
  const stopping = Promise.withResolvers<void>();
  const locking = db.asService(async (tx) => {
    await sql`lock table jobs in exclusive mode`.execute(tx);
    locked.resolve();
    await stopping.promise;
  });
  await locked.promise;
  const worker = startWorker();
  const isWaiting = async (tx: Tx) =>
    (await sql`select from pg_locks where not granted`.execute(tx)).rows.length > 0;
  await until(() => db.asService(isWaiting), { what: 'the claim to wait', timeoutMs: 60_000 });
  const stopped = worker.stop();
  stopping.resolve();
  await Promise.all([locking, stopped]);
  t.like(await readRow(db, id), { state: 'PENDING', attempts: 0, token: 1 });
});

test('a worker whose lease was taken over stores nothing', async (t) => {
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const stored: string[] = [];
  let firstSignal: AbortSignal | undefined;
  const type = jobType({
    ...trialType(async () => undefined),
    run: async ({ id, signal }) => {
      begun.push(id);
      firstSignal ??= signal;
      const me = `run ${begun.length}`;
      if (begun.length === 1) await gate.promise;
      return {
        result: { me, wasAborted: signal.aborted },
        effects: async () => {
          stored.push(me);
          return [];
        },
      };
    },
  });
  const { db, redis, submit, startWorker, queue } = await startTrials(t, type);
  startWorker();
  const id = await submit('TRIAL');
  await until(() => begun.length === 1, { what: 'the job to begin', timeoutMs: 60_000 });
  // As if this process had been paused for longer than its lease, and Redis had lost the entry.
  const expire = () =>
    db.asService((tx) =>
      sql`update jobs set held_until = now() - interval '1 second', token = token + 1
        where id = ${id}`.execute(tx),
    );
  await expire();
  await redis.del(...(await redis.keys(`*:${id}`)), ...(await redis.keys(`*:${id}:lock`)));
  await queue.restore([{ type: 'TRIAL', id }]);
  const row = await untilState(db, id, 'COMPLETED');
  t.deepEqual(JSON.parse(row.result ?? ''), { me: 'run 2', wasAborted: false });
  gate.resolve();
  await until(() => stored.length === 2 || firstSignal?.aborted === true, {
    what: 'the first run to end',
    timeoutMs: 60_000,
  });
  t.like(await readRow(db, id), { state: 'COMPLETED', token: 3, attempts: 2 });
});

test('a job whose worker dies again and again fails', async (t) => {
  const type = trialType(async () => 'done');
  const { db, submit, startWorker } = await startTrials(t, type);
  const id = await submit('TRIAL');
  await db.asService((tx) => tx.updateTable('jobs').set({ attempts: 3 }).execute());
  startWorker();
  const row = await untilState(db, id, 'FAILED');
  t.like(row, { error: 'worker_lost', retryable: true });
});

test('an entry without a job is dropped', async (t) => {
  const { queue, redis, startWorker, submit, db } = await startTrials(
    t,
    trialType(async () => 'done'),
  );
  const id = randomUUID();
  await queue.add({ type: 'TRIAL', id });
  startWorker();
  await untilState(db, await submit('TRIAL'), 'COMPLETED');
  await until(async () => (await redis.keys(`*:${id}`)).length === 0, {
    what: 'the entry to be dropped',
    timeoutMs: 60_000,
  });
  t.is(await readRow(db, id), undefined);
});
