import test from 'ava';
import { createWakeSignal, sleep } from '../../app/async/wake-signal.ts';

const longMs = 60_000;

/** Starts loops that wait for a signal, and returns the names of those that were woken. */
function startLoops(names: readonly string[]) {
  const signal = createWakeSignal();
  const stopping = new AbortController();
  const woken: string[] = [];
  const over = Promise.all(
    names.map((name) => signal.wait(longMs, stopping.signal).then(() => woken.push(name))),
  );
  return { signal, stopping, woken, over };
}

/** Resolves once all that was resolved before has been heard. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a wake wakes every loop', async (t) => {
  const { signal, woken, over } = startLoops(['a', 'b']);
  signal.wake();
  await over;
  t.deepEqual(woken, ['a', 'b']);
});

test('a wake of one wakes the loop that waits longest, and the next one another', async (t) => {
  const { signal, woken, over } = startLoops(['a', 'b', 'c']);
  signal.wakeOne();
  await settled();
  t.deepEqual(woken, ['a']);
  // Both are told before either loop goes on.
  signal.wakeOne();
  signal.wakeOne();
  await over;
  t.deepEqual(woken, ['a', 'b', 'c']);
});

for (const way of ['wake', 'wakeOne'] as const) {
  test(`${way} without a loop that waits ends the next wait, and only that`, async (t) => {
    const signal = createWakeSignal();
    const { signal: never } = new AbortController();
    signal[way]();
    await signal.wait(longMs, never);
    const startedAt = performance.now();
    await signal.wait(50, never);
    t.true(performance.now() - startedAt >= 45);
  });
}

test('a wait ends when it is stopped, and takes no later wake', async (t) => {
  const { signal, stopping, woken, over } = startLoops(['a']);
  stopping.abort();
  await over;
  t.deepEqual(woken, ['a']);
  signal.wakeOne();
  await signal.wait(longMs, new AbortController().signal);
  await sleep(longMs, stopping.signal);
  t.pass();
});
