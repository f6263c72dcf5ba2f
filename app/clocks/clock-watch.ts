import type { Clock } from '../async/clock.ts';
import { repeat } from '../async/repeat.ts';
import { AppError } from '../errors/app-error.ts';
import type { Log } from '../telemetry/log.ts';

/** Seconds by which clocks may differ before health is degraded. */
export const noticedSkewSeconds = 2;
/** Seconds by which clocks may differ before nothing is recorded any more. */
export const refusedSkewSeconds = 60;

const measureEveryMs = 5_000;

/** Another clock than this process's own. */
export type OtherClock = 'database' | 'signer';

/** Two clocks that differ by more than `noticedSkewSeconds`. */
export interface Skew {
  readonly other: OtherClock;
  /** Seconds by which this process's clock is ahead; negative if it is behind. */
  readonly seconds: number;
  /** When this process noticed it. */
  readonly since: Date;
}

interface ClockWatchOptions {
  /** Asks for the present time of each other clock. */
  readonly readings: Readonly<Record<OtherClock, () => Promise<Date>>>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The time of another clock at a moment of this process's monotonic clock, in milliseconds. */
interface Measured {
  readonly aheadOfMonotonic: number;
  /** The other clock was read within this time of the moment. */
  readonly uncertainty: number;
}

export type ClockWatch = ReturnType<typeof startClockWatch>;

/**
 * Compares the clock of this process with those of Postgres and of the signer every five seconds,
 * until stopped. Between the measurements the monotonic clock of the process shows at once if its
 * own clock is set.
 */
export function startClockWatch({ readings, clock, log }: ClockWatchOptions) {
  const measured = new Map<OtherClock, Measured>();
  const noticed = new Map<OtherClock, Date>();

  async function measure(other: OtherClock): Promise<void> {
    const before = performance.now();
    const time = await readings[other]();
    const uncertainty = (performance.now() - before) / 2;
    measured.set(other, { aheadOfMonotonic: time.getTime() - before - uncertainty, uncertainty });
  }

  /**
   * Returns the seconds by which this process's clock is certainly ahead of another clock; negative
   * if it is behind, and 0 while the other clock could not be read.
   */
  function aheadOf(other: OtherClock): number {
    const { aheadOfMonotonic, uncertainty } = measured.get(other) ?? {};
    if (aheadOfMonotonic === undefined || uncertainty === undefined) return 0;
    const difference = clock().getTime() - performance.now() - aheadOfMonotonic;
    return (Math.sign(difference) * Math.max(0, Math.abs(difference) - uncertainty)) / 1_000;
  }

  function note(other: OtherClock): void {
    const seconds = aheadOf(other);
    const isNoticed = Math.abs(seconds) > noticedSkewSeconds;
    if (isNoticed === noticed.has(other)) return;
    if (isNoticed) noticed.set(other, clock());
    else noticed.delete(other);
    const text = isNoticed ? 'the clock differs from another' : 'the clock agrees again';
    log[isNoticed ? 'error' : 'info']({ other, aheadSeconds: seconds }, text);
  }

  async function measureAll(): Promise<void> {
    // A service that is away is reported by its own check; its clock is compared when it is back.
    await Promise.allSettled((Object.keys(readings) as OtherClock[]).map(measure));
    for (const other of measured.keys()) note(other);
  }

  const measuring = repeat(measureEveryMs, measureAll);
  measuring.now();

  return {
    /** Returns the skew to another clock; undefined while it is too small to matter, or unknown. */
    skewTo(other: OtherClock): Skew | undefined {
      const seconds = aheadOf(other);
      if (Math.abs(seconds) <= noticedSkewSeconds) return undefined;
      return { other, seconds, since: noticed.get(other) ?? clock() };
    },

    /**
     * Throws clock_skew while this clock differs from another by more than a minute, since nothing
     * must be recorded with a time that is known to be wrong.
     */
    assertAgreement(): void {
      const isRefused = [...measured.keys()].some(
        (other) => Math.abs(aheadOf(other)) > refusedSkewSeconds,
      );
      if (isRefused) throw new AppError('clock_skew', { retryAfterSeconds: 30 });
    },

    stop: (): Promise<void> => measuring.stop(),
  };
}
