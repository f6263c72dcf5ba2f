import test, { type ExecutionContext } from 'ava';
import type { Database } from '../../app/db/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { countParked, readOutboxState, takeUpParked } from '../../app/outbox/parked.ts';
import { startOutboxWorker, type OutboxHandlers } from '../../app/outbox/worker.ts';
import { createWakeSignal } from '../../app/async/wake-signal.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { emailHandlers, mailTo } from './email-handlers.ts';
import { count, emptyOutbox, hurry, untilEmpty } from './empty-outbox.ts';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly kind: string;
  readonly attempts: number;
}

function startWorker(t: ExecutionContext, db: Database, email: OutboxHandlers['email']) {
  const lines: Line[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line) as Line) });
  const handlers = emailHandlers(email, { 'object.delete': async () => undefined });
  const worker = startOutboxWorker({ db, log, signal: createWakeSignal(), handlers });
  t.teardown(() => worker.stop());
  return lines;
}

const setAttempts = (db: Database, attempts: number) =>
  db.asService((tx) => tx.updateTable('outbox').set({ attempts }).execute());

const parked = (db: Database) => db.asService(countParked);

const untilParked = (db: Database, messages: number) =>
  until(async () => (await parked(db)) === messages, {
    what: 'the messages to be parked',
    timeoutMs: 60_000,
  });

test('a message that fails for the 20th time is parked and tried no more', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('bad')));
  await setAttempts(db, 18);
  const tried: string[] = [];
  const lines = startWorker(t, db, async ({ to }) => {
    tried.push(to);
    if (to === 'bad') throw new Error('on purpose');
  });
  await until(() => tried.length === 1, { what: 'the 19th try', timeoutMs: 60_000 });
  await until(() => lines.length === 1, { what: 'its log line', timeoutMs: 60_000 });
  t.is(await parked(db), 0);
  await until(
    async () => {
      await hurry(db);
      return (await parked(db)) === 1;
    },
    { what: 'the message to be parked', timeoutMs: 60_000 },
  );
  t.deepEqual(tried, ['bad', 'bad']);
  t.deepEqual(
    lines.map(({ level, msg, kind, attempts }) => [level, msg, kind, attempts]),
    [
      ['warn', 'an outbox message failed and will be retried', 'email', 19],
      ['warn', 'an outbox message failed too often and is parked', 'email', 20],
    ],
  );
  await hurry(db);
  // Messages are claimed in order: the parked one, which is older, would be tried before these.
  for (const to of ['good', 'better']) {
    await db.asService((tx) => outbox.add(tx, 'email', mailTo(to)));
    await until(() => tried.includes(to), { what: 'the next message', timeoutMs: 60_000 });
  }
  t.deepEqual(tried, ['bad', 'bad', 'good', 'better']);
  t.is(await parked(db), 1);
});

test('a parked message that is taken up again is tried anew, and is done once', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('a')));
  await setAttempts(db, 19);
  let isFixed = false;
  const done: string[] = [];
  startWorker(t, db, async (_mail, id) => {
    if (!isFixed) throw new Error('on purpose');
    done.push(id);
  });
  await untilParked(db, 1);
  const [row] = await db.asService((tx) => tx.selectFrom('outbox').select('id').execute());
  isFixed = true;
  t.is(await db.asService((tx) => takeUpParked(tx, 10)), 1);
  await untilEmpty(db);
  t.deepEqual(done, [row?.id]);
  t.is(await db.asService((tx) => takeUpParked(tx, 10)), 0);
});

test('a message whose workers died 20 times is parked without another try', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('deadly')));
  await setAttempts(db, 20);
  const tried: string[] = [];
  startWorker(t, db, async ({ to }) => void tried.push(to));
  await untilParked(db, 1);
  t.deepEqual(tried, []);
  t.is(await count(db), 1);
});

test('parked messages are taken up the longest parked first, at most the limit', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  for (const day of [1, 3, 2]) {
    await db.asService(async (tx) => {
      await outbox.add(tx, 'email', mailTo(`${day}`));
      const parkedAt = new Date(Date.now() - day * 86_400_000);
      await tx
        .updateTable('outbox')
        .set({ parked_at: parkedAt, attempts: 20 })
        .where('parked_at', 'is', null)
        .execute();
    });
  }
  t.is(await db.asService((tx) => takeUpParked(tx, 2)), 2);
  const left = await db.asService((tx) =>
    tx.selectFrom('outbox').select(['payload', 'attempts', 'parked_at']).execute(),
  );
  const isParked = Object.fromEntries(
    left.map((row) => [
      (JSON.parse(row.payload) as { readonly to: string }).to,
      [row.attempts, row.parked_at !== null],
    ]),
  );
  t.deepEqual(isParked, { 1: [20, true], 2: [0, false], 3: [0, false] });
});

test('the state of the outbox counts what waits, and what is parked by kind', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  const nothing = { waiting: 0, oldestAt: null, parked: {} };
  t.deepEqual(await db.asService(readOutboxState), nothing);
  await db.asService(async (tx) => {
    await outbox.add(tx, 'email', mailTo('a'));
    await outbox.addAll(tx, 'object.delete', [
      { key: 'a', version: '1' },
      { key: 'b', version: '1' },
    ]);
    await tx.updateTable('outbox').set({ parked_at: new Date() }).execute();
    await outbox.add(tx, 'email', mailTo('b'));
    await outbox.add(tx, 'email', mailTo('c'));
  });
  const { oldestAt, ...counts } = await db.asService(readOutboxState);
  t.deepEqual(counts, { waiting: 2, parked: { email: 1, 'object.delete': 2 } });
  const rows = await db.asService((tx) =>
    tx.selectFrom('outbox').select('created_at').where('parked_at', 'is', null).execute(),
  );
  t.deepEqual(oldestAt, rows[0]?.created_at ?? null);
});
