import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { openDatabase, type Database } from '../../app/db/database.ts';
import { until } from '../../app/dev/until.ts';
import { createOutbox, type OutboxPayloads } from '../../app/outbox/outbox.ts';
import { startOutboxWorker, type OutboxHandlers } from '../../app/outbox/worker.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { startProxiedDatabase } from '../health/proxied-database.ts';

type Mail = OutboxPayloads['email'];

const log = createLog('silent');
const mailTo = (to: string): Mail => ({ to, template: 'already-registered', values: {} });
const unexpected = async () => {
  throw new Error('not part of this test');
};

/** An outbox on a database of its own, without a worker. */
async function emptyOutbox(t: ExecutionContext) {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = database.settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 4 });
  t.teardown(() => db.close());
  const outbox = createOutbox({ onCommitted: () => undefined });
  return { db, outbox, proxy: database.proxy };
}

function startWorker(t: ExecutionContext, db: Database, email: OutboxHandlers['email']) {
  const handlers = { email, 'object.delete': unexpected, 'multipart.abort': unexpected };
  const worker = startOutboxWorker({ db, log, handlers });
  t.teardown(() => worker.stop());
  return worker;
}

const count = (db: Database) =>
  db.asService(async (tx) => (await tx.selectFrom('outbox').select('id').execute()).length);

const untilEmpty = (db: Database) =>
  until(async () => (await count(db)) === 0, { what: 'the outbox to be empty', timeoutMs: 30_000 });

/** Ends every lease and backoff. */
const hurry = (db: Database) =>
  db.asService((tx) =>
    tx
      .updateTable('outbox')
      .set({ available_at: sql`now()` })
      .execute(),
  );

test('what a transaction promised is done after the commit, and never without one', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  const done: string[] = [];
  startWorker(t, db, async ({ to }) => void done.push(to));
  const rolledBack = db.asService(async (tx) => {
    await outbox.add(tx, 'email', mailTo('rolled-back'));
    throw new Error('on purpose');
  });
  await t.throwsAsync(rolledBack, { message: 'on purpose' });
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('committed')));
  await until(() => done.length > 0, { what: 'the message', timeoutMs: 20_000 });
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

test('a message that fails is tried again until it succeeds, after a pause that may grow', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('a')));
  let tries = 0;
  startWorker(t, db, async () => {
    tries += 1;
    if (tries < 4) throw new Error('on purpose');
  });
  for (const attempt of [1, 2, 3]) {
    // Until then the row shows the lease of the try itself.
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
        timeoutMs: 30_000,
        intervalMs: 5,
      },
    );
    await hurry(db);
  }
  await untilEmpty(db);
  t.is(tries, 4);
});

test('a message that always fails holds up no other', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  for (let index = 0; index < 50; index += 1) {
    await db.asService((tx) =>
      outbox.add(tx, 'email', mailTo(index % 2 ? `good ${index}` : 'bad')),
    );
  }
  const done: string[] = [];
  startWorker(t, db, async ({ to }) => {
    if (to === 'bad') throw new Error('on purpose');
    done.push(to);
  });
  await until(() => done.length === 25, { what: 'the good ones', timeoutMs: 30_000 });
  t.is(new Set(done).size, 25);
  await until(async () => (await count(db)) === 25, { what: 'their rows', timeoutMs: 20_000 });
});

test('several workers side by side do each message once', async (t) => {
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

test('a message whose row cannot be erased is done again, under the same id', async (t) => {
  const { db, outbox, proxy } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('a')));
  const ids: string[] = [];
  startWorker(t, db, async (_mail, id) => {
    ids.push(id);
    // Done, and then nobody is told.
    if (ids.length === 1) await proxy.close();
  });
  await until(() => ids.length === 1, { what: 'the first time', timeoutMs: 20_000 });
  await proxy.open();
  await hurry(db);
  await untilEmpty(db);
  t.is(ids.length, 2);
  t.is(new Set(ids).size, 1);
});

test('a worker that stops finishes what it has in hand', async (t) => {
  const { db, outbox } = await emptyOutbox(t);
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('a')));
  const { promise: release, resolve } = Promise.withResolvers<void>();
  let isUnderWay = false;
  const worker = startWorker(t, db, async () => {
    isUnderWay = true;
    await release;
  });
  await until(() => isUnderWay, { what: 'the message', timeoutMs: 20_000 });
  const stopped = worker.stop();
  resolve();
  await stopped;
  t.is(await count(db), 0);
});
