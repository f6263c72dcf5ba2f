import test from 'ava';
import {
  queueChange,
  queueRemoval,
  rebaseQueue,
} from '../../../../client/sync/stores/offline-queue.ts';
import type { QueuedWrite, StoredObject } from '../../../../client/sync/stores/stored-object.ts';

const objectId = '01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35';
const request = { id: objectId, changedAt: 1 };

const objectOf = (version: number, data: object, ...queue: QueuedWrite[]): StoredObject => ({
  objectId,
  server: { version, data: { ...data }, statements: {} },
  queue,
});

const change = (baseVersion: number, before: object, delta: object): QueuedWrite => ({
  kind: 'change',
  baseVersion,
  before: { ...before },
  delta: { ...delta },
  changedAt: 1,
});

test('unsent changes merge into one; one that may have been sent never changes', (t) => {
  const one = queueChange(objectOf(1, { a: 1, b: 1 }), { a: 2, b: 1 }, 1);
  const two = queueChange(one, { a: 3, b: 2 }, 2);
  t.like(two.queue, [{ baseVersion: 1, delta: { a: 3, b: 2 }, changedAt: 2 }]);
  t.deepEqual(queueChange(two, { a: 1, b: 1 }, 3).queue, []);
  t.like(queueRemoval(two, 3).queue, [{ kind: 'remove', baseVersion: 1, before: { a: 1, b: 1 } }]);
  const sent = objectOf(1, { a: 1, b: 1 }, { ...change(1, { a: 1, b: 1 }, { a: 2 }), request });
  const after = queueChange(sent, { a: 3, b: 1 }, 2);
  t.deepEqual(after.queue[0], sent.queue[0]);
  t.like(after.queue[1], { before: { a: 2, b: 1 }, delta: { a: 3 } });
});

test('a write moves to the newest version only if others left its fields alone', (t) => {
  const [apart, touched] = [
    change(1, { a: 1, b: 1 }, { b: 2 }),
    change(1, { a: 1, b: 1 }, { a: 2 }),
  ];
  t.like(rebaseQueue(objectOf(2, { a: 9, b: 1 }, apart)).queue, [{ baseVersion: 2 }]);
  t.deepEqual(rebaseQueue(objectOf(2, { a: 9, b: 1 }, touched)).queue, [touched]);
  const fixed = { ...apart, request };
  t.deepEqual(rebaseQueue(objectOf(2, { a: 9, b: 1 }, fixed)).queue, [fixed]);
});

test('a value hidden by an earlier write does not count as seen', (t) => {
  const hiding = change(1, { a: 1, b: 1 }, { a: 2 });
  const open = change(2, { a: 2, b: 1 }, { b: 2 });
  const object = objectOf(2, { a: 9, b: 1 }, hiding, open);
  const changed = queueChange(object, { a: 3, b: 2 }, 2).queue;
  t.like(changed[1], { baseVersion: 1, delta: { a: 3, b: 2 } });
  t.like(queueChange(object, { a: 2, b: 3 }, 2).queue[1], { baseVersion: 2, delta: { b: 3 } });
  t.like(queueRemoval(object, 2).queue[1], { kind: 'remove', baseVersion: 1 });
});

test('a write in between does not make a value hidden by an earlier one count as seen', (t) => {
  const hiding = change(1, { a: 1, b: 1 }, { a: 2 });
  const between = { ...change(2, { a: 2, b: 1 }, { b: 2 }), request };
  const object = objectOf(2, { a: 9, b: 1 }, hiding, between);
  t.like(queueChange(object, { a: 3, b: 2 }, 2).queue[2], { baseVersion: 1, delta: { a: 3 } });
  t.like(queueRemoval(object, 2).queue[2], { kind: 'remove', baseVersion: 1 });
});
