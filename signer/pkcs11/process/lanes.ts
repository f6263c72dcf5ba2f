/**
 * Maps `items` in order, at most `count` concurrently. Rejects with the first error once all items
 * in progress have settled; no further item is started after an error.
 */
export async function mapInLanes<T, R>(
  items: readonly T[],
  count: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const remaining = items.entries();
  const failures: unknown[] = [];
  const lane = async (): Promise<void> => {
    for (const [index, item] of remaining) {
      if (failures.length > 0) return;
      try {
        results[index] = await map(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}
