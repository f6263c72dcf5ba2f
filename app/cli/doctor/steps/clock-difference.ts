import { ok, fail, warn, type Verdict } from './steps.ts';

/** A time that another machine stated, between a request and its response. */
export interface StatedTime {
  readonly stated: Date;
  /** The milliseconds by which the stated time may be rounded down. */
  readonly resolutionMs: number;
  readonly sentAt: Date;
  readonly receivedAt: Date;
}

/**
 * Returns the least difference of the clocks, in milliseconds, with which the times agree; positive
 * if the other clock is ahead.
 */
export function leastDifference({ stated, resolutionMs, sentAt, receivedAt }: StatedTime): number {
  const least = stated.getTime() - receivedAt.getTime();
  const most = stated.getTime() + resolutionMs - sentAt.getTime();
  if (least > 0) return least;
  return most < 0 ? most : 0;
}

/** The differences in seconds above which a clock is worth a warning, or a failure. */
export interface ClockLimits {
  readonly warn: number;
  readonly fail: number;
}

/** Judges the clock of `what` against that of this machine. */
export function judgeClock(what: string, time: StatedTime, limits: ClockLimits): Verdict {
  const seconds = Math.abs(leastDifference(time)) / 1_000;
  const text = `the clock of ${what} and that of this machine differ by ${seconds.toFixed(1)} s`;
  const remedy = 'set both clocks by NTP';
  if (seconds > limits.fail) return fail(`${text}: ${remedy}`);
  return seconds > limits.warn ? warn(`${text}: ${remedy}`) : ok(text);
}

/** Runs a request that states a time, and notes when. */
export async function askTime(resolutionMs: number, ask: () => Promise<Date>): Promise<StatedTime> {
  const sentAt = new Date();
  const stated = await ask();
  return { stated, resolutionMs, sentAt, receivedAt: new Date() };
}
