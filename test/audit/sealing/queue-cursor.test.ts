import test from 'ava';
import { createQueueCursor } from '../../../app/audit/sealing/queue-cursor.ts';

const pause = 300;

/** Creates a cursor whose clock is set by hand; times are in seconds. */
function createTimed() {
  let seconds = 0;
  const cursor = createQueueCursor(() => seconds * 1_000);
  return {
    at: (time: number) => (seconds = time),
    /** Reads the queue, whose first entry is of transaction `next`, and returns where it began. */
    async read(next: string): Promise<string> {
      const { from } = await cursor.read(async (begin) => ({ from: begin, next }));
      return from;
    },
    fail: () => cursor.read(() => Promise.reject(new Error('the connection was lost'))),
  };
}

test('the first reading begins at the start, and the next where that one said', async (t) => {
  const { at, read } = createTimed();
  t.is(await read('700'), '0');
  t.is(await read('720'), '700');
  at(pause - 1);
  t.is(await read('720'), '720');
});

test('every five minutes a reading begins at the start', async (t) => {
  const { at, read } = createTimed();
  await read('700');
  for (const round of [1, 2, 3]) {
    at(round * pause);
    t.is(await read('700'), '0');
    t.is(await read('700'), '700');
  }
});

test('a reading that failed is made again', async (t) => {
  const { at, read, fail } = createTimed();
  await t.throwsAsync(fail(), { message: 'the connection was lost' });
  t.is(await read('700'), '0');
  at(pause);
  await t.throwsAsync(fail());
  t.is(await read('700'), '0');
  await t.throwsAsync(fail());
  t.is(await read('700'), '700');
});

test('after a failover the numbers of transactions may be lower', async (t) => {
  const { read } = createTimed();
  await read('700');
  t.is(await read('650'), '700');
  t.is(await read('660'), '650');
});
