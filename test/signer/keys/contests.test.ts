import test from 'ava';
import { watchContests } from '../../../signer/pkcs11/keys/contests.ts';
import type { StoredKey } from '../../../signer/pkcs11/keys/key-objects.ts';

function keyOf(id: string): StoredKey {
  return { purpose: 'audit', generation: 2, id: Buffer.from(id), handle: Buffer.alloc(8) };
}

test('a contest is over once it has had the same keys for five seconds', (t) => {
  let now = 0;
  const isLive = watchContests(() => now);
  const [first, second, third] = [keyOf('a'), keyOf('b'), keyOf('c')];
  t.true(isLive([first, second]));
  now = 4_999;
  t.true(isLive([second, first]));
  now = 5_000;
  t.false(isLive([first, second]));
  t.true(isLive([first, second, third]));
});

test('a key that is the only one of its generation is in no contest', (t) => {
  const isLive = watchContests(() => 0);
  t.false(isLive([keyOf('a')]));
  t.false(isLive([]));
});
