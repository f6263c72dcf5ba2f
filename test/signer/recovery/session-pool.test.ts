import test from 'ava';
import { PoolDrained, SessionPool } from '../../../signer/pkcs11/token/session-pool.ts';
import { SignerUnavailable } from '../../../signer/protocol/signer-error.ts';

class Broken extends Error {}

function createPool({ size = 2, queueLimit = 10 } = {}) {
  const closed: number[] = [];
  let opened = 0;
  const pool = new SessionPool({
    size,
    queueLimit,
    open: () => {
      const id = (opened += 1);
      return { id, close: () => closed.push(id) };
    },
    survives: (error) => !(error instanceof Broken),
  });
  return { pool, closed };
}

test('callers are served in order, with at most as many sessions as the pool has', async (t) => {
  const { pool } = createPool();
  const order: number[] = [];
  let most = 0;
  await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      pool.use(async () => {
        order.push(index);
        most = Math.max(most, pool.inUse);
        await Promise.resolve();
      }),
    ),
  );
  t.is(most, 2);
  t.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7]);
  t.is(pool.inUse, 0);
});

test('a caller over the queue limit fails with busy at once', async (t) => {
  const { pool } = createPool({ size: 1, queueLimit: 1 });
  const gate = Promise.withResolvers<void>();
  const served = [pool.use(() => gate.promise), pool.use(() => gate.promise)];
  const error = await t.throwsAsync(
    pool.use(() => {}),
    { instanceOf: SignerUnavailable },
  );
  t.is(error?.code, 'busy');
  gate.resolve();
  await t.notThrowsAsync(Promise.all(served));
});

test('a session that its operation broke is closed and replaced', async (t) => {
  const { pool, closed } = createPool({ size: 1 });
  const breaking = pool.use(() => {
    throw new Broken();
  });
  const next = pool.use(({ id }) => id);
  await t.throwsAsync(breaking, { instanceOf: Broken });
  t.is(await next, 2);
  t.deepEqual(closed, [1]);
});

test('a session stays in the pool after an error that did not break it', async (t) => {
  const { pool, closed } = createPool({ size: 1 });
  await t.throwsAsync(
    pool.use(() => {
      throw new TypeError();
    }),
  );
  t.is(await pool.use(({ id }) => id), 1);
  t.deepEqual(closed, []);
});

test('every waiting caller fails if no session can be opened', async (t) => {
  const pool = new SessionPool({
    size: 1,
    queueLimit: 10,
    open: () => {
      throw new Broken();
    },
    survives: () => false,
  });
  const outcomes = await Promise.allSettled([pool.use(() => {}), pool.use(() => {})]);
  t.true(outcomes.every(({ status }) => status === 'rejected'));
  t.is(pool.inUse, 0);
});

test('draining waits for running work, rejects waiting callers and closes sessions', async (t) => {
  const { pool, closed } = createPool({ size: 1 });
  const gate = Promise.withResolvers<string>();
  const working = pool.use(() => gate.promise);
  const waiting = pool.use(() => 'never');
  const drained = pool.drain();
  await t.throwsAsync(waiting, { instanceOf: PoolDrained });
  t.deepEqual(closed, []);
  gate.resolve('done');
  t.is(await working, 'done');
  await drained;
  t.deepEqual(closed, [1]);
  await t.throwsAsync(
    pool.use(() => {}),
    { instanceOf: PoolDrained },
  );
});

test('waiting single operations and those of a batch are served alternately', async (t) => {
  const { pool } = createPool({ size: 1 });
  const served: string[] = [];
  const wait = (name: string, queue: 'single' | 'batch') =>
    pool.use(async () => void served.push(name), queue);
  await Promise.all([
    ...['a', 'b', 'c', 'd'].map((name) => wait(name, 'single')),
    ...['1', '2'].map((name) => wait(name, 'batch')),
  ]);
  t.is(served.join(''), 'a1b2cd');
});
