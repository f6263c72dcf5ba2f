import { setTimeout } from 'node:timers/promises';

const stepMs = 50;

/**
 * Runs `work` and settles only at a multiple of 50 ms after the call, so that the timing of a
 * response does not reveal what `work` found.
 */
export async function steadily<T>(work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    const elapsedMs = performance.now() - startedAt;
    await setTimeout(stepMs - (elapsedMs % stepMs));
  }
}
