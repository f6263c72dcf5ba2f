/**
 * Number of rounds, each of which makes a fault, and the seed of all random choices. The variables
 * ROUNDS and SEED set them.
 */
export const rounds = numberFrom('ROUNDS', 1);
export const seed = numberFrom('SEED', 1);

/** Returns the number in an environment variable, or `fallback` if it is unset or empty. */
export function numberFrom(variable: string, fallback: number): number {
  const text = process.env[variable] ?? '';
  return text === '' ? fallback : Number(text);
}

/** Returns a generator of a repeatable sequence of numbers from 0 to 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
