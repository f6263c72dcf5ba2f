import { setTimeout } from 'node:timers/promises';

const stepMs = 50;

/**
 * Lets an answer out only at multiples of 50 ms after it was asked for, so that its time does not
 * tell what was found.
 */
export async function steadily<T>(answer: () => Promise<T>): Promise<T> {
  const askedAt = performance.now();
  try {
    return await answer();
  } finally {
    const elapsedMs = performance.now() - askedAt;
    await setTimeout(stepMs - (elapsedMs % stepMs));
  }
}
