import test, { type ExecutionContext } from 'ava';
import { createFairSlots, type FairSlots } from '../../app/async/fair-slots.ts';

/** Takes slots and notes, in `order`, which takers got one. */
function takers(slots: FairSlots) {
  const order: string[] = [];
  const releases = new Map<string, () => void>();
  return {
    order,
    async take(name: string, key: string): Promise<void> {
      const release = await slots.acquire(key);
      order.push(name);
      releases.set(name, release);
    },
    release: (name: string) => releases.get(name)?.(),
  };
}

/** Lets takers that got a slot continue. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

const throwsBusy = (t: ExecutionContext, taken: Promise<unknown>) =>
  t.throwsAsync(taken, { name: 'AppError', code: 'busy' });

test('a key has only so many slots, and other keys do not wait for it', async (t) => {
  const { order, take, release } = takers(createFairSlots({ perKey: 2 }));
  void take('a1', 'a');
  void take('a2', 'a');
  void take('a3', 'a');
  void take('b1', 'b');
  await settle();
  t.deepEqual(order, ['a1', 'a2', 'b1']);
  release('a2');
  await settle();
  t.deepEqual(order, ['a1', 'a2', 'b1', 'a3']);
});

test('free slots go to the keys by turns, however many takers of a key wait', async (t) => {
  const { order, take, release } = takers(createFairSlots({ perKey: 2, inAll: 1 }));
  for (const n of [1, 2, 3, 4]) void take(`a${n}`, 'a');
  void take('b1', 'b');
  void take('c1', 'c');
  for (let n = 0; n < 6; n += 1) {
    await settle();
    release(order[n] ?? '');
  }
  t.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'a3', 'a4']);
});

test('too many waiting takers of a key are refused at once, and no others', async (t) => {
  const { order, take } = takers(createFairSlots({ perKey: 1, waitingPerKey: 1 }));
  void take('a1', 'a');
  void take('a2', 'a');
  await throwsBusy(t, take('a3', 'a'));
  await take('b1', 'b');
  t.deepEqual(order, ['a1', 'b1']);
});

test('too many waiting takers in all are refused with the error of full slots', async (t) => {
  const slots = createFairSlots({
    perKey: 1,
    inAll: 1,
    waitingPerKey: 1,
    waiting: 2,
    tooMany: 'rate_limited',
    noneFree: 'reauth_busy',
  });
  const release = await slots.acquire('a');
  const waiters = [slots.acquire('a'), slots.acquire('b')];
  await t.throwsAsync(slots.acquire('a'), { name: 'AppError', code: 'rate_limited' });
  await t.throwsAsync(slots.acquire('c'), { name: 'AppError', code: 'reauth_busy' });
  release();
  await Promise.all(waiters.map(async (waiter) => (await waiter)()));
  (await slots.acquire('c'))();
  t.pass();
});

test('a taker waits only so long, and its place is free then', async (t) => {
  const slots = createFairSlots({ perKey: 1, waitingPerKey: 1, waitMs: 20 });
  const release = await slots.acquire('a');
  await throwsBusy(t, slots.acquire('a'));
  await throwsBusy(t, slots.acquire('a'));
  release();
  (await slots.acquire('a'))();
  t.pass();
});

test('a taker that waited for other keys gets the error of full slots', async (t) => {
  const slots = createFairSlots({
    perKey: 1,
    inAll: 1,
    waitMs: 20,
    noneFree: 'database_unavailable',
  });
  await slots.acquire('a');
  await throwsBusy(t, slots.acquire('a'));
  await t.throwsAsync(slots.acquire('b'), { name: 'AppError', code: 'database_unavailable' });
});

test('a taker whose signal aborts leaves its place to the next one', async (t) => {
  const slots = createFairSlots({ perKey: 1 });
  const release = await slots.acquire('a');
  const leaving = new AbortController();
  const left = slots.acquire('a', leaving.signal);
  const next = slots.acquire('a');
  leaving.abort(new Error('gone'));
  await t.throwsAsync(left, { message: 'gone' });
  await t.throwsAsync(slots.acquire('a', leaving.signal), { message: 'gone' });
  release();
  (await next)();
  (await slots.acquire('a'))();
  t.pass();
});

test('a slot that is released twice is free once', async (t) => {
  const { order, take, release } = takers(createFairSlots({ perKey: 2, inAll: 2 }));
  await take('a1', 'a');
  await take('a2', 'a');
  void take('a3', 'a');
  void take('a4', 'a');
  release('a1');
  release('a1');
  await settle();
  t.deepEqual(order, ['a1', 'a2', 'a3']);
});

test('work that fails returns its slot', async (t) => {
  const slots = createFairSlots({ perKey: 1 });
  await t.throwsAsync(
    slots.take('a', () => Promise.reject(new Error('a failure'))),
    { message: 'a failure' },
  );
  t.is(await slots.take('a', async () => 'done'), 'done');
});

test('a slot stays taken while its key rests, and other keys do not wait', async (t) => {
  const slots = createFairSlots({
    perKey: 1,
    restAfter: (key, heldMs) => (key === 'a' && heldMs >= 0 ? 60_000 : 0),
  });
  const { order, take, release } = takers(slots);
  for (const name of ['a1', 'a2']) void take(name, 'a');
  for (const name of ['b1', 'b2']) void take(name, 'b');
  await settle();
  release('a1');
  release('b1');
  await settle();
  t.deepEqual(order, ['a1', 'b1', 'b2']);
});

test('a slot rests as if it had been held for as long as its holder says', async (t) => {
  const held: number[] = [];
  const slots = createFairSlots({ perKey: 1, restAfter: (_key, heldMs) => (held.push(heldMs), 0) });
  (await slots.acquire('a'))();
  (await slots.acquire('a'))(5_000);
  const [first = 0, second = 0] = held;
  t.true(first < 5_000);
  t.true(second >= 5_000);
});

test('a slot is free after the rest of its key, and each use rests once', async (t) => {
  const rested: string[] = [];
  const slots = createFairSlots({ perKey: 1, restAfter: (key) => rested.push(key) });
  const { order, take, release } = takers(slots);
  void take('a1', 'a');
  const second = take('a2', 'a');
  await settle();
  release('a1');
  release('a1');
  await second;
  t.deepEqual(order, ['a1', 'a2']);
  t.deepEqual(rested, ['a']);
});
