import test from 'ava';
import { sql } from 'kysely';
import { atOnce, openDatabase, type Tx } from '../../../app/db/database.ts';
import { compileOnce } from '../../../app/db/compile-once.ts';
import { inTurn } from '../../../app/db/pipeline.ts';
import { afterCommit, commitWith } from '../../../app/db/transaction.ts';
import { until } from '../../support/audit/token-fixture.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';
import { countSlots, insertSlot, openBehindAnswerProxy } from './answer-proxy.ts';

const one = sql<{ readonly one: number }>`select 1 as one`;
const failing = sql`select 1 / 0`;
const refusal = { code: '25P02' };
const divided = { code: '22012' };

test('statements that are awaited together take one round trip', async (t) => {
  const { db, proxy } = await openBehindAnswerProxy(t);
  const inOrder = async (tx: Tx) => {
    await one.execute(tx);
    await one.execute(tx);
  };
  const together = (tx: Tx) => inTurn(one.execute(tx), one.execute(tx), one.execute(tx));
  await db.asService(inOrder);
  t.is(await proxy.count(() => db.asService(inOrder)), 3);
  t.is(await proxy.count(() => db.asService(together)), 2);
  t.is(await proxy.count(() => db.asService(together, atOnce)), 1);
  const withCommit = async (tx: Tx) => {
    await one.execute(tx);
    commitWith(tx, one.execute(tx));
  };
  t.is(await proxy.count(() => db.asService(withCommit)), 2);
});

test('a transaction at once has committed before anything has its answer', async (t) => {
  const { db, proxy, observer } = await openBehindAnswerProxy(t);
  await db.asService((tx) => one.execute(tx));
  proxy.hold();
  const inserted = db.asService((tx) => insertSlot(tx), atOnce);
  await until(async () => (await countSlots(observer)) === 1);
  t.is(await Promise.race([inserted, Promise.resolve('unanswered')]), 'unanswered');
  proxy.release();
  await inserted;
});

test('a transaction at once can send nothing later', async (t) => {
  const { db, observer } = await openBehindAnswerProxy(t);
  const work = db.asService(async (tx) => {
    await one.execute(tx);
    await insertSlot(tx);
  }, atOnce);
  await t.throwsAsync(work, { message: 'the transaction is over' });
  t.is(await countSlots(observer), 0);
  t.is((await db.asService(async (tx) => (await one.execute(tx)).rows, atOnce)).length, 1);
});

test('a failed statement of a transaction at once leaves nothing and is thrown', async (t) => {
  const { db, observer } = await openBehindAnswerProxy(t);
  const work = (tx: Tx) => inTurn(insertSlot(tx), failing.execute(tx), insertSlot(tx, 1_001));
  await t.throwsAsync(db.asService(work, atOnce), divided);
  t.is(await countSlots(observer), 0);
  await db.asService((tx) => insertSlot(tx), atOnce);
  t.is(await countSlots(observer), 1);
});

test('what fails together with the commit leaves nothing, and is what is thrown', async (t) => {
  const { db, observer } = await openBehindAnswerProxy(t);
  let followedUp = false;
  const work = db.asService(async (tx) => {
    afterCommit(tx, () => {
      followedUp = true;
    });
    await insertSlot(tx);
    commitWith(
      tx,
      failing.execute(tx).catch(() => {
        throw new Error('explained');
      }),
    );
    commitWith(tx, insertSlot(tx, 1_001));
    return 'done';
  });
  await t.throwsAsync(work, { message: 'explained' });
  t.false(followedUp);
  t.is(await countSlots(observer), 0);
});

test('a statement that is refused for one before it is not what is thrown', async (t) => {
  const { db } = await openBehindAnswerProxy(t);
  const work = db.asService(async (tx) => {
    commitWith(tx, failing.execute(tx));
    await t.throwsAsync(insertSlot(tx), refusal);
    await insertSlot(tx, 1_001);
  });
  await t.throwsAsync(work, divided);
  const awaited = db.asService(async (tx) => {
    const failed = failing.execute(tx);
    commitWith(tx, insertSlot(tx));
    await failed;
  });
  await t.throwsAsync(awaited, divided);
  await t.throwsAsync(
    db.asService((tx) => inTurn(failing.execute(tx), insertSlot(tx))),
    divided,
  );
});

test('a compiled statement gets the values of each use', async (t) => {
  const { db } = await openBehindAnswerProxy(t);
  let times = 0;
  const add = compileOnce(({ a, b }: { readonly a: number; readonly b: number | null }, tx) => {
    times += 1;
    return sql<{ readonly sum: number | null }>`
      select ${a}::int + coalesce(${b}::int, ${a}::int) + ${1}::int as sum`.compile(tx);
  });
  const added = await db.asService(async (tx) =>
    inTurn(add(tx, { a: 1, b: 2 }), add(tx, { b: 20, a: 10 }), add(tx, { a: 5, b: null })),
  );
  t.deepEqual(added, [[{ sum: 4 }], [{ sum: 31 }], [{ sum: 11 }]]);
  t.is(times, 1);
  const spread = compileOnce((values: { readonly a: number }, tx) =>
    tx.selectNoFrom(Object.keys({ ...values }).map((name) => sql.lit(name).as(name))).compile(),
  );
  await t.throwsAsync(
    db.asService((tx) => spread(tx, { a: 1 })),
    { message: /unknown while it is compiled/ },
  );
});

test('the limit of a response begins with the response before', async (t) => {
  const { databases, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { app: url, service: serviceUrl } = databases;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1, statementMs: 800 });
  t.teardown(() => db.close());
  const sleep = (tx: Tx) => sql`select pg_sleep(0.7)`.execute(tx);
  // All of them take longer than the 1,800 ms in which one must be answered.
  await t.notThrowsAsync(
    db.asService((tx) => inTurn(sleep(tx), sleep(tx), sleep(tx), sleep(tx), one.execute(tx))),
  );
});
