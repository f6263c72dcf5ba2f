/** A thousand items with all the metadata that they may have are 90 MB, and would be in memory several times. */
const roomBytes = 4 * 2 ** 20;

/**
 * Of the ids of a list those of the next page: at most `limit`, and no more than it has room for. One is
 * always among them, if there is any.
 */
export function takePage(
  ids: readonly string[],
  limit: number,
  bytes: ReadonlyMap<string, number>,
): string[] {
  const page: string[] = [];
  let room = roomBytes;
  for (const id of ids.slice(0, limit)) {
    room -= bytes.get(id) ?? 0;
    if (room < 0 && page.length > 0) break;
    page.push(id);
  }
  return page;
}
