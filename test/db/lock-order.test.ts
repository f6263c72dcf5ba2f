import test from 'ava';
import type { Tx } from '../../app/db/database.ts';
import { takesLock, watchLocks } from '../../app/db/lock-order.ts';

function watched() {
  const tx = {} as Tx;
  watchLocks(tx);
  return tx;
}

test('locks may be taken in their order, and a kind that is held may be taken again', (t) => {
  const tx = watched();
  takesLock(tx, 'account');
  takesLock(tx, 'document');
  t.notThrows(() => takesLock(tx, 'account'));
  t.notThrows(() => takesLock(tx, 'audit trail'));
});

test('a lock after one of a later kind is refused, in that transaction alone', (t) => {
  const tx = watched();
  takesLock(tx, 'document');
  t.throws(() => takesLock(tx, 'account'), {
    message: "a lock of kind 'account' is taken after 'document': see app/db/lock-order.ts",
  });
  t.notThrows(() => takesLock(watched(), 'account'));
});

test('a transaction that is not watched is not checked', (t) => {
  const tx = {} as Tx;
  takesLock(tx, 'document');
  t.notThrows(() => takesLock(tx, 'account'));
});
