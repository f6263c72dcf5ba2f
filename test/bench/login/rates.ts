import { setTimeout as delay } from 'node:timers/promises';

/** Runs `work` so many times, `concurrency` at once. Gives the runs a second. */
export async function runAtFullRate(
  work: () => Promise<void>,
  { times, concurrency }: { times: number; concurrency: number },
): Promise<number> {
  let left = times;
  const startedAt = performance.now();
  const lane = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return (times * 1000) / (performance.now() - startedAt);
}

/** Begins `perSecond` runs a second, evenly, however long each takes. */
export async function runAtRate(
  work: () => Promise<void>,
  { perSecond, seconds }: { perSecond: number; seconds: number },
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
