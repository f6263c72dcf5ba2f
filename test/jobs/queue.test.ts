import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createEntryPurge } from '../../app/jobs/operation/purge.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { readRow } from '../support/jobs/job-system.ts';
import { startTrials, trialType } from '../support/jobs/trial.ts';

const done = trialType(async () => 'done');

test('a purge of the queue spares the entries of jobs that are not over', async (t) => {
  const { db, queue, submit } = await startTrials(t, done);
  const entry = (id: string) => ({ type: 'TRIAL', id });
  const orphan = randomUUID();
  await queue.add(entry(orphan));
  const waiting = await submit('TRIAL');
  const over = await submit('TRIAL');
  await db.asService((tx) =>
    tx
      .updateTable('jobs')
      .set({ state: 'COMPLETED', result: '1', finished_at: new Date() })
      .where('id', '=', over)
      .execute(),
  );
  const { purge } = createEntryPurge({ db, queue });
  const now = { seconds: -1, dryRun: false };
  t.is(await purge({ tenantId: 'elsewhere' }, now), 0);
  t.is(await purge('all tenants', { ...now, dryRun: true }), 2);
  t.is(await purge({ tenantId: 'default' }, now), 1);
  t.is(await purge('all tenants', { ...now, seconds: 60 }), 0, 'younger than a minute');
  t.is(await purge('all tenants', now), 1);
  t.is(await queue.restore([entry(waiting)]), 0, 'the entry is still there');
  t.is(await queue.restore([entry(orphan)]), 1);
});

test('a consumer that stops hands out no entry any more, and loses none', async (t) => {
  const { queue } = await startTrials(t, done);
  const entries = Array.from({ length: 200 }, () => ({ type: 'TRIAL', id: randomUUID() }));
  t.is(await queue.restore(entries), entries.length);
  const handled: string[] = [];
  let stopping: Promise<void> | undefined;
  const late: string[] = [];
  queue.consume('TRIAL', {
    concurrency: 4,
    log: createLog('silent'),
    async handle({ id }) {
      (stopping === undefined ? handled : late).push(id);
      await pause(1);
      if (handled.length >= 50) stopping ??= queue.stopConsumers();
      return undefined;
    },
  });
  await until(() => stopping !== undefined, { what: 'the stop', timeoutMs: 60_000 });
  await stopping;
  t.deepEqual(late, []);
  t.is(await queue.restore(entries.filter(({ id }) => !handled.includes(id))), 0);
});

test('Redis holds ids of jobs and no payload', async (t) => {
  const { db, redis, vault, submit } = await startTrials(t, done);
  const secret = randomUUID();
  const userId = randomUUID();
  const id = await submit('TRIAL', { secret }, userId);
  t.true((await readRow(db, id))?.payload?.includes(secret));
  const keys = await redis.keys(`jobs:${vault}:*`);
  const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
  const texts = [...keys, ...values.map((value) => value?.toString('latin1'))];
  const dumped = texts.join('\n');
  t.true(dumped.includes(id));
  t.false(dumped.includes(secret));
  t.false(dumped.includes(userId));
});

test('one process in a while gets the turn', async (t) => {
  const { queue, open } = await startTrials(t, done);
  const other = await open();
  t.teardown(() => other.stop());
  t.true(await queue.takeTurn(60));
  t.false(await queue.takeTurn(60));
  t.false(await other.queue.takeTurn(60));
});
