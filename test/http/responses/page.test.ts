import test from 'ava';
import { cutPage } from '../../../app/http/responses/page.ts';

const quarter = 2 ** 18;

function cut(ids: readonly string[], limit: number, bytes: readonly number[] = []) {
  const rows = ids.map((id, index) => ({ id, bytes: bytes[index] ?? 0 }));
  const page = cutPage(rows, { limit, cursorOf: ({ id }) => id, bytesOf: (row) => row.bytes });
  return [page.rows.map(({ id }) => id).join(''), page.cursor];
}

test('a page is cut at its limit or at 1 MiB, and is never empty where there is a row', (t) => {
  const ids = ['a', 'b', 'c', 'd'];
  t.deepEqual(cut(ids, 4, [quarter, quarter, quarter, quarter]), ['abcd', undefined]);
  t.deepEqual(cut(ids, 4, [quarter, quarter, quarter, quarter + 1]), ['abc', 'c']);
  t.deepEqual(cut(ids, 4, [9 * quarter, 1]), ['a', 'a']);
  t.deepEqual(cut(ids, 3), ['abc', 'c']);
  t.deepEqual(cut([], 3), ['', undefined]);
});
