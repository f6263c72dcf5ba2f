/** What a bench found. More is better: for costs the ratio is reference over ours. */
export interface Figures {
  readonly ours: number;
  /** The limit or the peer, measured in the same run. */
  readonly reference: number;
  readonly unit: string;
  readonly ratio: number;
  readonly [more: string]: number | string | undefined;
}

/** Starts all it needs and stops it again. `progress` goes to the user, line by line. */
export type Bench = (progress: (line: string) => void) => Promise<Figures>;

/** The middle one, so that a round that something else disturbed does not count. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}

export function round(value: number, digits = 3): number {
  return Number(value.toFixed(digits));
}
