import test from 'ava';
import { createFairTurns, QueueFull } from '../../app/async/fair-turns.ts';

/** Work that runs until `end` is called, and the order in which pieces of it have begun. */
function createHeldWork() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    hold: (name: string) => async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
    },
    /** Ends the piece that began first, and waits until the next one could begin. */
    async end() {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('a key with 50 pieces of work keeps no other key waiting for more than a turn', async (t) => {
  const turns = createFairTurns({ atOnce: 2, placesPerKey: 50, places: 100 });
  const { begun, hold, end } = createHeldWork();
  const all = Array.from({ length: 50 }, () => turns.take('greedy', hold('greedy')));
  all.push(turns.take('one', hold('one')), turns.take('two', hold('two')));
  await end();
  t.deepEqual(begun, ['greedy', 'one', 'two']);
  while (begun.length < 52) await end();
  await end();
  await end();
  await Promise.all(all);
  t.is(begun.filter((name) => name === 'greedy').length, 50);
});

test('a key runs one piece of work at a time, also when nobody else waits', async (t) => {
  const turns = createFairTurns({ atOnce: 2, placesPerKey: 3, places: 10 });
  const { begun, hold, end } = createHeldWork();
  const all = [turns.take('one', hold('first')), turns.take('one', hold('second'))];
  await new Promise((resolve) => setImmediate(resolve));
  t.deepEqual(begun, ['first']);
  await end();
  t.deepEqual(begun, ['first', 'second']);
  await end();
  await Promise.all(all);
});

test('work beyond the places of its key, or of all keys, is refused at once', async (t) => {
  const turns = createFairTurns({ atOnce: 1, placesPerKey: 2, places: 3 });
  const { hold, end } = createHeldWork();
  const all = [turns.take('one', hold('1')), turns.take('one', hold('2'))];
  const own = await t.throwsAsync(turns.take('one', hold('3')), { instanceOf: QueueFull });
  t.is(own?.scope, 'key');
  all.push(turns.take('two', hold('4')));
  const others = await t.throwsAsync(turns.take('three', hold('5')), { instanceOf: QueueFull });
  t.is(others?.scope, 'all');
  for (let turn = 0; turn < 3; turn += 1) await end();
  await Promise.all(all);
  await t.notThrowsAsync(turns.take('one', async () => 'a place again'));
});

test('work that fails gives its place and its turn to the next', async (t) => {
  const turns = createFairTurns({ atOnce: 1, placesPerKey: 1, places: 1 });
  for (let round = 0; round < 3; round += 1) {
    const failing = turns.take('one', () => Promise.reject(new Error('a failure')));
    await t.throwsAsync(failing, { message: 'a failure' });
  }
  t.is(await turns.take('two', async () => 'done'), 'done');
});
