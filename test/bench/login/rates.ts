import { setTimeout as delay } from 'node:timers/promises';

/** Runs `work` `times` times, `concurrency` at once. Resolves with the runs a second. */
export async function runAtFullRate(
  work: () => Promise<void>,
  { times, concurrency }: { readonly times: number; readonly concurrency: number },
): Promise<number> {
  let left = times;
  const startedAt = performance.now();
  const lane = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return (times * 1000) / (performance.now() - startedAt);
}

/** Starts `perSecond` runs a second at even intervals, however long each run takes. */
export async function runAtRate(
  work: () => Promise<void>,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<void> {
  const startedAt = performance.now();
  const running: Promise<void>[] = [];
  while (running.length < perSecond * seconds) {
    const due = ((performance.now() - startedAt) / 1000) * perSecond;
    while (running.length < Math.min(due, perSecond * seconds)) running.push(work());
    await delay(1);
  }
  await Promise.all(running);
}
