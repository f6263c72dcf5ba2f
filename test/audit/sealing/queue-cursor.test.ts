import test from 'ava';
import { NIL } from 'uuid';
import { createQueueCursor } from '../../../app/audit/sealing/queue-cursor.ts';
import { firstIdOf } from '../../../app/audit-trail/first-id.ts';

const begin = Date.UTC(2026, 0, 1);
const second = 1_000;

/** Creates a cursor whose clock is set by hand; times are in seconds since it was created. */
function createTimed() {
  let seconds = 0;
  const cursor = createQueueCursor(() => begin + seconds * second);
  return {
    cursor,
    at: (time: number) => (seconds = time),
    idOf: (time: number) => firstIdOf(new Date(begin + time * second)),
  };
}

test('the first reading begins at the start', (t) => {
  t.is(createTimed().cursor.next(), NIL);
});

test('readings of an empty queue begin seconds ago, and rarely at the start', (t) => {
  const { cursor, at, idOf } = createTimed();
  cursor.next();
  const reaches = [];
  for (let time = 1; time < 300; time += 1) {
    cursor.found(null);
    at(time);
    const from = cursor.next();
    t.true(from >= idOf(time - 30), `${time} s`);
    if (from === idOf(time - 30)) reaches.push(time);
  }
  t.true(reaches.length >= 59, `${reaches.length} readings reach back 30 s`);
  at(300);
  t.is(cursor.next(), NIL);
});

test('an entry that waits keeps every reading at it or before it', (t) => {
  const { cursor, at, idOf } = createTimed();
  cursor.next();
  at(100);
  cursor.found(idOf(10));
  for (let time = 101; time < 290; time += 1) {
    at(time);
    t.is(cursor.next(), idOf(10), `${time} s`);
    cursor.found(idOf(10));
  }
  cursor.found(null);
  at(290);
  t.true(cursor.next() >= idOf(260));
});

test('an entry that is older than all that wait is found within five seconds', (t) => {
  const { cursor, at, idOf } = createTimed();
  cursor.next();
  at(100);
  cursor.found(null);
  // It committed now; its id was made 20 s ago.
  const late = idOf(80);
  let time = 100;
  while (cursor.next() > late) {
    cursor.found(null);
    time += 1;
    at(time);
  }
  t.true(time <= 105, `${time} s`);
});

test('after the clock was set back a reading begins at the start', (t) => {
  const { cursor, at } = createTimed();
  at(10_000);
  cursor.next();
  cursor.found(null);
  at(0);
  t.is(cursor.next(), NIL);
});
