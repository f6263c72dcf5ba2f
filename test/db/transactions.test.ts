import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { openDatabase, type Tx } from '../../app/db/database.ts';
import { afterCommit } from '../../app/db/transaction.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { stopThread } from '../support/runs/stop-thread.ts';

const userId = '7f1c2b7e-0f6d-4c3a-9a55-0d7f2f6f5a01';

async function openBehindProxy(t: ExecutionContext, options: { idleMs?: number } = {}) {
  const { settings, proxy, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1, ...options });
  t.teardown(() => db.close());
  return { db, proxy };
}

const open = async (t: ExecutionContext) => (await openBehindProxy(t)).db;

const insertSlot = (tx: Tx, slot: number) =>
  tx.insertInto('audit_totals').values({ slot, sealed: 0 }).execute();

async function readSlots(tx: Tx): Promise<number[]> {
  const totals = tx.selectFrom('audit_totals').select('slot').where('slot', '>=', 1_000);
  return (await totals.orderBy('slot').execute()).map(({ slot }) => slot);
}

const readTenant = async (tx: Tx) => {
  const { rows } = await sql<{ tenant: string | null }>`
    select nullif(current_setting('app.tenant_id', true), '') as tenant`.execute(tx);
  return rows[0]?.tenant;
};

test('a tenant is set verbatim, whatever characters its name has', async (t) => {
  const db = await open(t);
  for (const tenantId of [`o'hara`, `'; drop table devices; --`, String.raw`\'`, '$1', 'ü €']) {
    t.is(await db.asUser({ userId, tenantId }, readTenant), tenantId);
  }
});

test('a transaction handle that outlives its transaction can run nothing', async (t) => {
  const db = await open(t);
  const left: Tx[] = [];
  const keep = async (tx: Tx) => {
    left.push(tx);
  };
  await db.asUser({ userId, tenantId: 'one' }, keep);
  await t.throwsAsync(
    db.asUser({ userId, tenantId: 'two' }, async (tx) => {
      await keep(tx);
      throw new Error('rolled back');
    }),
    { message: 'rolled back' },
  );
  // This transaction uses the same connection, since the pool has no other.
  await db.asUser({ userId, tenantId: 'three' }, async (tx) => {
    for (const over of left) {
      await t.throwsAsync(async () => readTenant(over), { message: 'the transaction is over' });
    }
    t.is(await readTenant(tx), 'three');
  });
  t.is(await db.asService(readTenant), null);
  t.is(left.length, 2);
});

test('work that swallows the error of a statement does not commit', async (t) => {
  const db = await open(t);
  let followedUp = false;
  const work = db.asService(async (tx) => {
    afterCommit(tx, () => {
      followedUp = true;
    });
    await insertSlot(tx, 1_000);
    await t.throwsAsync(insertSlot(tx, 1_000), { code: '23505' });
    return 'stored';
  });
  await t.throwsAsync(work, { code: '25P02' });
  t.false(followedUp);
  t.deepEqual(await db.asService(readSlots), []);
});

test('a failed statement that nobody awaited fails its transaction', async (t) => {
  const db = await open(t);
  const failures: unknown[] = [];
  const work = db.asService(async (tx) => {
    await insertSlot(tx, 1_000);
    void sql`select 1 / 0`.execute(tx).catch((error: unknown) => failures.push(error));
    // By now the statement is sent, but its result has not arrived.
    await Promise.resolve();
    await new Promise(setImmediate);
  });
  await t.throwsAsync(work);
  t.is(failures.length, 1);
  t.deepEqual(await db.asService(readSlots), []);
});

test('one failed statement among concurrent ones rolls the transaction back', async (t) => {
  const db = await open(t);
  const slots = Array.from({ length: 20 }, (_, number) => 1_000 + number);
  await db.asService((tx) => Promise.all(slots.map((slot) => insertSlot(tx, slot))));
  t.deepEqual(await db.asService(readSlots), slots);

  const another = db.asService((tx) =>
    Promise.all([2_000, 2_001, 1_000, 2_002].map((slot) => insertSlot(tx, slot))),
  );
  await t.throwsAsync(another, { code: '23505' });
  t.deepEqual(await db.asService(readSlots), slots);
});

test('a connection lost before the commit rejects, and nothing is stored', async (t) => {
  const { db, proxy } = await openBehindProxy(t);
  let followedUp = false;
  const work = db.asService(async (tx) => {
    afterCommit(tx, () => {
      followedUp = true;
    });
    await insertSlot(tx, 1_000);
    await proxy.close();
  });
  await t.throwsAsync(work, { code: 'database_unavailable' });
  t.false(followedUp);
  await proxy.open();
  t.deepEqual(await db.asService(readSlots), []);
});

// This test runs alone: delays by other tests in this thread would count as idle time.
test.serial(
  'a transaction whose work never ends is rolled back and frees its connection',
  async (t) => {
    const { db } = await openBehindProxy(t, { idleMs: 300 });
    const never = new Promise<never>(() => undefined);
    await t.throwsAsync(
      db.asService(() => never),
      { message: 'a transaction was left idle' },
    );
    const work = db.asService(async (tx) => {
      await insertSlot(tx, 1_000);
      await never;
    });
    await t.throwsAsync(work, { message: 'a transaction was left idle' });
    // The pool's only connection is used, for longer in all than a transaction may be idle.
    const slept = db.asService(async (tx) => {
      for (let turn = 0; turn < 3; turn += 1) await sql`select pg_sleep(0.2)`.execute(tx);
      await sql`select pg_sleep(0.5)`.execute(tx);
      return readSlots(tx);
    });
    t.deepEqual(await slept, []);
  },
);

test.serial('a transaction left idle since the process was stopped can be retried', async (t) => {
  const { databases, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { app: url, service: serviceUrl } = databases;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1, idleMs: 300 });
  t.teardown(() => db.close());
  const work = db.asService(async (tx) => {
    // The transaction has begun in Postgres.
    await readSlots(tx);
    stopThread(1_500);
    // Timers that are due are called, and what arrived is read, between these two.
    await nextTurn();
    await nextTurn();
    return readSlots(tx);
  });
  await t.throwsAsync(work, { code: 'database_unavailable' });
  t.deepEqual(await db.asService(readSlots), []);
});
