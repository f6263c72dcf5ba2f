import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import type { Database } from '../../app/db/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createOutbox, type OutboxPayloads } from '../../app/outbox/outbox.ts';
import { PermanentFailure } from '../../app/outbox/permanent-failure.ts';
import { startOutboxWorker, type OutboxHandlers } from '../../app/outbox/worker.ts';
import { createWakeSignal } from '../../app/async/wake-signal.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { emailHandlers, mailTo } from './email-handlers.ts';
import { count, emptyOutbox, hurry, untilEmpty } from './empty-outbox.ts';

function startWorker(
  t: ExecutionContext,
  db: Database,
  email: OutboxHandlers['email'],
  log = createLog('silent'),
) {
  const handlers = emailHandlers(email);
  const worker = startOutboxWorker({ db, log, signal: createWakeSignal(), handlers });
  t.teardown(() => worker.stop());
  return worker;
}

test('a message is handled after its transaction commits, never without a commit', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  const done: string[] = [];
  startWorker(t, db, async ({ to }) => void done.push(to));
  const rolledBack = db.asService(async (tx) => {
    await outbox.add(tx, 'email', mailTo('rolled-back'));
    throw new Error('on purpose');
  });
  await t.throwsAsync(rolledBack, { message: 'on purpose' });
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('committed')));
  await until(() => done.length > 0, { what: 'the message', timeoutMs: 60_000 });
  await untilEmpty(db);
  t.deepEqual(done, ['committed']);
});

test('the worker is woken by the commit and not before', async (t) => {
  const { db } = await emptyOutbox(t);
  let woken = 0;
  const outbox = createOutbox({ onCommitted: () => (woken += 1) });
  const rolledBack = db.asService(async (tx) => {
    await outbox.add(tx, 'email', mailTo('a'));
    throw new Error('on purpose');
  });
  await t.throwsAsync(rolledBack);
  t.is(woken, 0);
  await db.asService(async (tx) => {
    await outbox.add(tx, 'email', mailTo('a'));
    t.is(woken, 0);
  });
  t.is(woken, 1);
});

test('a failed message is retried until it succeeds, with a back-off that may grow', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('a')));
  let tries = 0;
  startWorker(t, db, async () => {
    tries += 1;
    if (tries < 4) throw new Error('on purpose');
  });
  for (const attempt of [1, 2, 3]) {
    // Before that, the row shows the lease of the attempt itself.
    await until(
      () =>
        db.asService(async (tx) => {
          const row = await tx
            .selectFrom('outbox')
            .select([
              'attempts',
              sql<number>`extract(epoch from available_at - now())::float`.as('pause'),
            ])
            .executeTakeFirst();
          return tries === attempt && row?.attempts === attempt && row.pause <= 2 ** attempt;
        }),
      {
        what: `a pause of at most ${2 ** attempt} s after try ${attempt}`,
        timeoutMs: 60_000,
        intervalMs: 5,
      },
    );
    await hurry(db);
  }
  await untilEmpty(db);
  t.is(tries, 4);
});

test('a permanently failing message is tried once, logged and erased', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  for (const to of ['hopeless', 'good', 'hopeless']) {
    await db.asService((tx) => outbox.add(tx, 'email', mailTo(to)));
  }
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const tried: string[] = [];
  const email = async ({ to }: OutboxPayloads['email'], id: string) => {
    tried.push(to === 'good' ? to : id);
    if (to === 'hopeless') throw new PermanentFailure('on purpose');
  };
  startWorker(t, db, email, log);
  await untilEmpty(db);
  t.is(tried.length, 3);
  const logged = lines.map((line): Record<string, unknown> => JSON.parse(line));
  const hopeless = new Set(tried.filter((id) => id !== 'good'));
  t.deepEqual(new Set(logged.map(({ messageId }) => messageId)), hopeless);
  t.is(logged.length, 2);
  for (const { level, msg, kind, attempts } of logged) {
    t.deepEqual(
      [level, msg, kind, attempts],
      ['warn', 'an outbox message failed permanently and is erased', 'email', 1],
    );
  }
  t.true(lines.every((line) => line.includes('on purpose') && !line.includes('hopeless')));
});

test('a message that always fails does not delay others', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  for (let index = 0; index < 50; index += 1) {
    await db.asService((tx) =>
      outbox.add(tx, 'email', mailTo(index % 2 === 1 ? `good ${index}` : 'bad')),
    );
  }
  const done: string[] = [];
  startWorker(t, db, async ({ to }) => {
    if (to === 'bad') throw new Error('on purpose');
    done.push(to);
  });
  await until(() => done.length === 25, { what: 'the successful messages', timeoutMs: 60_000 });
  t.is(new Set(done).size, 25);
  await until(async () => (await count(db)) === 25, {
    what: 'the rows of the successful messages to be erased',
    timeoutMs: 60_000,
  });
});

test('slow messages delay no other kind of message, and few are claimed at once', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  for (let index = 0; index < 100; index += 1) {
    await db.asService((tx) => outbox.add(tx, 'email', mailTo(`${index}`)));
  }
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const begun: string[] = [];
  const email: OutboxHandlers['email'] = async ({ to }) => {
    begun.push(to);
    await release;
  };
  const deleted: string[] = [];
  const remove: OutboxHandlers['object.delete'] = async ({ key }) => void deleted.push(key);
  const worker = startOutboxWorker({
    db,
    log: createLog('silent'),
    signal: createWakeSignal(),
    handlers: emailHandlers(email, { 'object.delete': remove }),
  });
  t.teardown(() => worker.stop());
  t.teardown(resolve);
  await until(() => begun.length > 0, { what: 'the first e-mail', timeoutMs: 60_000 });
  await db.asService((tx) => outbox.add(tx, 'object.delete', { key: 'a', version: '1' }));
  await until(() => deleted.length > 0, { what: 'the deletion', timeoutMs: 60_000 });
  t.true(begun.length < 50, `${begun.length} e-mails at once`);
  resolve();
  await untilEmpty(db);
  t.is(begun.length, 100);
  t.is(new Set(begun).size, 100);
});

test('a message that outlives its lease is not started again by the same worker', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('long')));
  const { promise: release, resolve } = Promise.withResolvers<void>();
  const begun: string[] = [];
  startWorker(t, db, async ({ to }) => {
    begun.push(to);
    if (to === 'long') await release;
  });
  t.teardown(resolve);
  await until(() => begun.length > 0, { what: 'the message', timeoutMs: 60_000 });
  await hurry(db);
  // Messages are claimed in order: once the second is done, the first has been claimed again.
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('short')));
  await until(() => begun.includes('short'), { what: 'the next message', timeoutMs: 60_000 });
  resolve();
  await untilEmpty(db);
  t.deepEqual(begun, ['long', 'short']);
});

test('concurrent workers handle each message once', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  await db.asService(async (tx) => {
    for (let index = 0; index < 100; index += 1) await outbox.add(tx, 'email', mailTo(`${index}`));
  });
  const done: string[] = [];
  for (const _worker of [1, 2, 3]) startWorker(t, db, async ({ to }) => void done.push(to));
  await untilEmpty(db);
  t.is(done.length, 100);
  t.is(new Set(done).size, 100);
});

test('a message whose row cannot be erased is handled again under the same id', async (t) => {
  const { db, outbox, proxy } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('a')));
  const ids: string[] = [];
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const email = async (_mail: unknown, id: string) => {
    ids.push(id);
    // The message is handled, but its row cannot be erased.
    if (ids.length === 1) await proxy.close();
  };
  startWorker(t, db, email, log);
  // Reopens the connection only now, as the row could be erased otherwise.
  await until(() => lines.some((line) => line.includes('failed and will be retried')), {
    what: 'the row to stay',
    timeoutMs: 60_000,
  });
  t.is(ids.length, 1);
  await proxy.open();
  await hurry(db);
  await untilEmpty(db);
  t.is(ids.length, 2);
  t.is(new Set(ids).size, 1);
});

test('a worker that stops completes the messages it has started', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('a')));
  const { promise: release, resolve } = Promise.withResolvers<void>();
  let isUnderWay = false;
  const worker = startWorker(t, db, async () => {
    isUnderWay = true;
    await release;
  });
  await until(() => isUnderWay, { what: 'the message', timeoutMs: 60_000 });
  const stopped = worker.stop();
  resolve();
  await stopped;
  t.is(await count(db), 0);
});
