import test from 'ava';
import { createTaskPool } from '../../../client/async/task-pool.ts';

test('never more tasks run than the limit, and all of them run', async (t) => {
  const pool = createTaskPool(3);
  let running = 0;
  let done = 0;
  for (let index = 0; index < 20; index += 1) {
    await pool.start(async () => {
      running += 1;
      t.true(running <= 3);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      done += 1;
    });
    t.true(running < 3);
  }
  await pool.finish();
  t.is(done, 20);
});

test('the first failure is thrown, and no rejection is unhandled', async (t) => {
  const pool = createTaskPool(2);
  const failures = [new Error('first'), new Error('second')];
  await pool.start(async () => {
    throw failures[0];
  });
  await t.throwsAsync(
    pool.start(async () => {
      throw failures[1];
    }),
    { is: failures[0] },
  );
  await t.throwsAsync(pool.finish(), { is: failures[0] });
  await t.notThrowsAsync(pool.settle());
});

test('a pool with a limit below one is refused', (t) => {
  for (const limit of [0, -1, Number.NaN]) {
    t.throws(() => createTaskPool(limit), { instanceOf: RangeError });
  }
});
