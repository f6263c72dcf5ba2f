/** A page of a list, and the cursor of the next page; undefined after the last page. */
export interface Page<Row, Cursor> {
  readonly rows: Row[];
  readonly cursor: Cursor | undefined;
}

interface PageOptions<Row, Cursor> {
  readonly limit: number;
  /** Returns where the next page begins when `row` is the last of this one. */
  readonly cursorOf: (row: Row) => Cursor;
  /** Returns the bytes that a row takes in memory; nothing unless stated. */
  readonly bytesOf?: (row: Row) => number;
}

/** A thousand rows with the greatest metadata would be 90 MB, several times over in memory. */
const maxBytes = 4 * 2 ** 20;

/**
 * Cuts a page at `limit` rows or 4 MiB, whichever comes first; never empty where there is a row.
 * `rows` holds one more than `limit` where the list goes on.
 */
export function cutPage<Row, Cursor>(
  rows: readonly Row[],
  { limit, cursorOf, bytesOf = () => 0 }: PageOptions<Row, Cursor>,
): Page<Row, Cursor> {
  const page: Row[] = [];
  let room = maxBytes;
  for (const row of rows.slice(0, limit)) {
    room -= bytesOf(row);
    if (room < 0 && page.length > 0) break;
    page.push(row);
  }
  const last = page.at(-1);
  const goesOn = page.length < rows.length && last !== undefined;
  return { rows: page, cursor: goesOn ? cursorOf(last) : undefined };
}
