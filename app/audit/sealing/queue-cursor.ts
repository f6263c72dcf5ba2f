import { NIL } from 'uuid';
import { firstIdOf } from '../../audit-trail/first-id.ts';

/** How long after its id was made an entry may commit and still be found at once. */
const lagMs = 2_000;
/** How long it may take to commit and still be found within `leastPauseMs`. */
const longLagMs = 90_000;
const leastPauseMs = 5_000;
const greatestPauseMs = 30_000;
/** The pause after a reading from the start, in multiples of its time. */
const pausePerTime = 30;

/**
 * Creates a cursor of the queue of unsealed entries: the lowest id that may still wait. A reader
 * that begins there passes none of the rows that were removed before, which stay in the index while
 * an old snapshot (a dump) may see them. For entries that commit late under an older id, a reading
 * every 5 s begins at the start. The longer it takes, the rarer it is, twice a minute at least;
 * meanwhile a reading every 5 s begins with the ids of the last 90 s.
 * @param now The time in milliseconds.
 */
export function createQueueCursor(now: () => number = Date.now) {
  let lowest: string = NIL;
  let sweepAt = -Infinity;
  let recentSweepAt = -Infinity;
  /** When the reading from the start that is under way began. */
  let begunAt: number | undefined;
  const idOf = (agoMs: number) => firstIdOf(new Date(now() - agoMs));
  /** Returns whether a time has come; a clock that was set back may be far from it. */
  const isDue = (time: number) => now() >= time || time - now() > greatestPauseMs;
  return {
    /** Returns the id at which the next reading of the queue begins. */
    next(): string {
      if (isDue(sweepAt)) {
        begunAt = now();
        return NIL;
      }
      if (!isDue(recentSweepAt)) return lowest;
      recentSweepAt = now() + leastPauseMs;
      const recent = idOf(longLagMs);
      return recent < lowest ? recent : lowest;
    },
    /** Reports the lowest id that a reading found, leased or not; null if it found none. */
    found(first: string | null): void {
      if (begunAt !== undefined) {
        const pauseMs = pausePerTime * (now() - begunAt);
        sweepAt = now() + Math.min(greatestPauseMs, Math.max(leastPauseMs, pauseMs));
        begunAt = undefined;
      }
      const recent = idOf(lagMs);
      lowest = first === null || first > recent ? recent : first;
    },
  };
}
