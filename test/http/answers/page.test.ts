import test from 'ava';
import { takePage } from '../../../app/http/answers/page-room.ts';

const MiB = 2 ** 20;

test('a page has as many ids as it has room for, and one at least', (t) => {
  const ids = ['a', 'b', 'c', 'd'];
  const sizes = (...bytes: number[]) => new Map(ids.map((id, i) => [id, bytes[i] ?? 0]));
  t.deepEqual(takePage(ids, 4, sizes(MiB, MiB, MiB, MiB)), ids);
  t.deepEqual(takePage(ids, 4, sizes(MiB, MiB, MiB, MiB + 1)), ['a', 'b', 'c']);
  t.deepEqual(takePage(ids, 4, sizes(9 * MiB, 1)), ['a']);
  t.deepEqual(takePage(ids, 3, sizes()), ['a', 'b', 'c']);
  t.deepEqual(takePage(ids, 3, new Map()), ['a', 'b', 'c']);
  t.deepEqual(takePage([], 3, new Map()), []);
});
