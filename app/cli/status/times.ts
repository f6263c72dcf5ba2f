const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Returns a duration in whole units: the greatest of which it has two, or exactly one. */
export function durationOf(seconds: number): string {
  const isFit = (length: number) => seconds >= 2 * length || seconds === length;
  const [name, length] = units.find((unit) => isFit(unit[1])) ?? (['second', 1] as const);
  return count(Math.floor(seconds / length), name);
}

/** Returns the seconds from `then` to `now`; 0 if a clock lags. */
export function secondsBetween(then: Date, now: Date): number {
  return Math.max(0, (now.getTime() - then.getTime()) / 1_000);
}

/** Returns a moment with its age, such as `2026-01-01T00:00:00Z, 3 hours ago`. */
export function moment(then: Date, now: Date): string {
  const time = then.toISOString().replace(/\.\d+/, '');
  return `${time}, ${durationOf(secondsBetween(then, now))} ago`;
}

/** Returns a number with its noun, such as `1 entry` or `2 entries`. */
export function count(number: number, singular: string, plural = `${singular}s`): string {
  return `${number} ${number === 1 ? singular : plural}`;
}
