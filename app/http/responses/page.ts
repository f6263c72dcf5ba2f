/** A page of a list, and the cursor of the next page; undefined after the last page. */
export interface Page<Row, Cursor> {
  readonly rows: Row[];
  readonly cursor: Cursor | undefined;
}

interface PageOptions<Row, Cursor> {
  readonly limit: number;
  /** Returns the cursor of the page that follows a page whose last row is `row`. */
  readonly cursorOf: (row: Row) => Cursor;
  /** Returns the bytes that a row takes in memory; 0 by default. */
  readonly bytesOf?: (row: Row) => number;
}

/**
 * Limit on what the rows of a page contain, in bytes. A thousand rows with the largest metadata
 * would be 90 MB, and several times as much in memory.
 */
export const pageBytes = 2 ** 20;

/**
 * Limit on a response with a page, in bytes: what the rows contain, and the names, ids and times of
 * a thousand rows.
 */
export const listBytes = 2 * pageBytes;

/**
 * Cuts a page at `limit` rows or 1 MiB, whichever is reached first. A page has at least one row
 * unless `rows` is empty. Callers pass one row more than `limit` if the list continues.
 */
export function cutPage<Row, Cursor>(
  rows: readonly Row[],
  { limit, cursorOf, bytesOf = () => 0 }: PageOptions<Row, Cursor>,
): Page<Row, Cursor> {
  const page: Row[] = [];
  let room = pageBytes;
  for (const row of rows.slice(0, limit)) {
    room -= bytesOf(row);
    if (room < 0 && page.length > 0) break;
    page.push(row);
  }
  const last = page.at(-1);
  const goesOn = page.length < rows.length && last !== undefined;
  return { rows: page, cursor: goesOn ? cursorOf(last) : undefined };
}
