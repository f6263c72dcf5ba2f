import { setTimeout } from 'node:timers/promises';
import test from 'ava';
import { createHeavyWork } from '../../app/async/heavy-work.ts';

/** Occupies the event loop. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('heavy work runs piece by piece, and other work runs between two pieces', async (t) => {
  const { run } = createHeavyWork();
  const order: string[] = [];
  const other = async () => {
    // Several turns of the event loop, as a request to the database takes.
    for (let turn = 0; turn < 5; turn += 1) await setTimeout(1);
    order.push('other');
  };
  const done: Promise<unknown>[] = [];
  const first = run(() => {
    block(200);
    order.push('first');
    done.push(other());
  });
  const second = run(() => void order.push('second'));
  await Promise.all([first, second]);
  await Promise.all(done);
  t.deepEqual(order, ['first', 'other', 'second']);
});

test('heavy work that throws rejects, and the next piece runs', async (t) => {
  const { run } = createHeavyWork();
  const failing = run(() => {
    throw new Error('no');
  });
  await t.throwsAsync(failing, { message: 'no' });
  t.is(await run(() => 1), 1);
});
