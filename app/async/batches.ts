import { setImmediate } from 'node:timers/promises';

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly settle: PromiseWithResolvers<Result>;
}

/**
 * Creates a function that gathers the items of concurrent calls into batches. While `work` runs,
 * further items wait; then up to `most` of them are one batch. `work` resolves with the results in
 * the order of the items; if it fails, the calls of this batch fail.
 */
export function createBatches<Item, Result>(
  most: number,
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let isRunning = false;

  async function runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await work(batch.map(({ item }) => item));
      for (const [index, { settle }] of batch.entries()) settle.resolve(results[index] as Result);
    } catch (error) {
      for (const { settle } of batch) settle.reject(error);
    }
  }

  async function runAll(): Promise<void> {
    isRunning = true;
    // Calls of the same turn of the event loop come into one batch.
    await setImmediate();
    while (waiting.length > 0) await runBatch(waiting.splice(0, most));
    isRunning = false;
  }

  return (item) => {
    const settle = Promise.withResolvers<Result>();
    waiting.push({ item, settle });
    if (!isRunning) void runAll();
    return settle.promise;
  };
}
