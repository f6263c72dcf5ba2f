import test from 'ava';
import { createVerifiedTokens } from '../../app/tokens/verified-tokens.ts';

const at = (seconds: number) => new Date(seconds * 1000);

test('a token is cached until it expires, and no other text matches', (t) => {
  const verified = createVerifiedTokens<string>(10);
  verified.add('a.b.c', 'alice', at(100));
  t.is(verified.find('a.b.c', at(99.999)), 'alice');
  t.is(verified.find('a.b.c', at(100)), undefined);
  for (const other of ['a.b.d', 'a.b.', 'a.b.cc', 'A.b.c', '']) {
    t.is(verified.find(other, at(0)), undefined);
  }
});

test('the cache never exceeds its capacity, and keeps the newest tokens', (t) => {
  const verified = createVerifiedTokens<number>(3);
  for (let n = 0; n < 10; n += 1) verified.add(String(n), n, at(100));
  const kept = Array.from({ length: 10 }, (_, n) => verified.find(String(n), at(0)));
  t.deepEqual(
    kept.filter((claims) => claims !== undefined),
    [7, 8, 9],
  );
});
