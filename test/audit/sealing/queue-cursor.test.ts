import test from 'ava';
import { NIL } from 'uuid';
import { createQueueCursor } from '../../../app/audit/sealing/queue-cursor.ts';
import { firstIdOf } from '../../../app/audit-trail/first-id.ts';

const begin = Date.UTC(2026, 0, 1);

/** Creates a cursor whose clock is set by hand; times are in seconds since it was created. */
function createTimed() {
  let seconds = 0;
  const cursor = createQueueCursor(() => begin + seconds * 1_000);
  return {
    cursor,
    at: (time: number) => (seconds = time),
    idOf: (time: number) => firstIdOf(new Date(begin + time * 1_000)),
    /** Reads the queue for some seconds, and reports the lowest id that it found. */
    read(took: number, first: string | null): string {
      const from = cursor.next();
      seconds += took;
      cursor.found(first);
      return from;
    },
  };
}

test('a quick reading begins at the start every five seconds, and others seconds ago', (t) => {
  const { at, read, idOf } = createTimed();
  t.is(read(0, null), NIL);
  for (let time = 1; time <= 60; time += 1) {
    at(time);
    const from = read(0, null);
    if (time % 5 === 0) t.is(from, NIL, `${time} s`);
    else t.true(from >= idOf(time - 90), `${time} s`);
  }
});

for (const [took, pause] of [
  [0.5, 15],
  [3, 30],
] as const) {
  test(`after a reading of ${took} s from the start, none follows for ${pause} s`, (t) => {
    const { at, read, idOf } = createTimed();
    t.is(read(took, null), NIL);
    for (let time = took + 1; time < took + pause; time += 1) {
      at(time);
      t.true(read(0, null) >= idOf(time - 90), `${time} s`);
    }
    at(took + pause);
    t.is(read(0, null), NIL);
  });
}

test('an entry that waits keeps every reading at it or before it', (t) => {
  const { at, read, idOf } = createTimed();
  at(200);
  read(3, idOf(10));
  for (let time = 204; time < 233; time += 1) {
    at(time);
    t.is(read(0, idOf(10)), idOf(10), `${time} s`);
  }
});

test('between long readings an entry of the last 90 s is found within five seconds', (t) => {
  const { at, read, idOf } = createTimed();
  at(200);
  read(3, null);
  let time = 204;
  at(time);
  read(0, null);
  // It commits now; its id was made 80 s ago.
  const late = idOf(time - 80);
  do {
    time += 1;
    at(time);
  } while (read(0, null) > late);
  t.true(time <= 209, `${time} s`);
});

test('a reading that failed is made again', (t) => {
  const { cursor, read } = createTimed();
  t.is(cursor.next(), NIL);
  t.is(read(0, null), NIL);
});

test('after the clock was set back a reading begins at the start', (t) => {
  const { at, read } = createTimed();
  at(10_000);
  read(0, null);
  at(0);
  t.is(read(0, null), NIL);
});
