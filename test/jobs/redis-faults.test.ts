import test from 'ava';
import type { Redis } from 'ioredis';
import { until } from '../../app/dev/processes/until.ts';
import { untilState } from '../support/jobs/job-system.ts';
import { startTrials, trialType } from '../support/jobs/trial.ts';
import { startOwnRedis, type OwnRedis } from '../support/network/own-redis.ts';

test('jobs whose entries Redis lost are queued again', async (t) => {
  const own = await startOwnRedis(t);
  const { db, submit, startWorker } = await startTrials(
    t,
    trialType(async () => 'done'),
    own.url,
  );
  const ids = await Promise.all(Array.from({ length: 20 }, () => submit('TRIAL')));
  await own.kill();
  await own.restart();
  startWorker();
  for (const id of ids) t.like(await untilState(db, id, 'COMPLETED'), { attempts: 1 });
});

test('a worker goes on once Redis and Postgres are back', async (t) => {
  const own = await startOwnRedis(t);
  const type = trialType(async () => 'done');
  const { db, submit, startWorker, proxy } = await startTrials(t, type, own.url);
  startWorker();
  await untilState(db, await submit('TRIAL'), 'COMPLETED');
  const waiting = await Promise.all(Array.from({ length: 20 }, () => submit('TRIAL')));
  await proxy.close();
  await own.kill();
  await own.restart();
  await proxy.open();
  for (const id of waiting) t.is((await untilState(db, id, 'COMPLETED')).state, 'COMPLETED');
});

test('a submission that Redis does not acknowledge is refused, and stores nothing', async (t) => {
  const own = await startOwnRedis(t);
  const { db, submit, redis } = await startTrials(
    t,
    trialType(async () => 'done'),
    own.url,
  );
  await submit('TRIAL');
  for (const [what, refuse, mend] of faultsOf(own, redis)) {
    await refuse();
    const startedAt = performance.now();
    await t.throwsAsync(submit('TRIAL'), { message: /queue/ }, what);
    t.true(performance.now() - startedAt < 2_000, what);
    await mend();
    await until(() => submit('TRIAL').then(Boolean, () => false), {
      what: `a submission after Redis ${what}`,
      timeoutMs: 60_000,
    });
  }
  const rows = await db.asService((tx) => tx.selectFrom('jobs').select('id').execute());
  t.is(rows.length, 5);
});

function faultsOf(own: OwnRedis, admin: Redis) {
  const faults: [string, () => unknown, () => unknown][] = [
    ['hung', () => own.hang(), () => own.resume()],
    ['was down', () => own.kill(), () => own.restart()],
    [
      'was full',
      () => admin.config('SET', 'maxmemory', '1'),
      () => admin.config('SET', 'maxmemory', '0'),
    ],
    ['was a replica', () => admin.replicaof('127.0.0.1', '1'), () => admin.replicaof('NO', 'ONE')],
  ];
  return faults;
}
