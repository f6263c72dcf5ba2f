/** The result of a bench. A larger ratio is better: for costs it is reference over ours. */
export interface Figures {
  readonly ours: number;
  /** The limit, or the figure of the peer measured in the same run. */
  readonly reference: number;
  readonly unit: string;
  readonly ratio: number;
  readonly [more: string]: number | string | undefined;
}

/** Starts everything it needs and stops it at the end. `progress` shows the user one line. */
export type Bench = (progress: (line: string) => void) => Promise<Figures>;

/** Returns the median, so that one disturbed round does not count. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}

/** Returns the value that a part of the values, such as 0.95, does not exceed. */
export function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * part) - 1] ?? Number.NaN;
}

export function round(value: number, digits = 3): number {
  return Number(value.toFixed(digits));
}
