import { NIL } from 'uuid';
import { firstIdOf } from '../../audit-trail/first-id.ts';

/** How long after its id was made an entry may commit and still be found at once. */
const lagMs = 2_000;
/** How long it may take to commit and still be found within `recentSweepMs`. */
const longLagMs = 30_000;
const recentSweepMs = 5_000;
const sweepMs = 300_000;

/**
 * Creates a cursor of the queue of unsealed entries: the lowest id that may still wait. A reader
 * that begins there passes none of the rows that were removed before, which stay in the index while
 * an old snapshot (a dump) may see them. For entries that commit late under an older id, a reading
 * every 5 s begins with the ids of the last 30 s, and one every 5 minutes at the start.
 * @param now The time in milliseconds.
 */
export function createQueueCursor(now: () => number = Date.now) {
  let lowest: string = NIL;
  let sweptAt = -Infinity;
  let sweptRecentAt = -Infinity;
  /** Returns whether an interval is over, also after the clock was set back. */
  const isOver = (since: number, ms: number) => Math.abs(now() - since) >= ms;
  const idOf = (agoMs: number) => firstIdOf(new Date(now() - agoMs));
  return {
    /** Returns the id at which the next reading of the queue begins. */
    next(): string {
      if (isOver(sweptAt, sweepMs)) {
        sweptAt = now();
        return NIL;
      }
      if (!isOver(sweptRecentAt, recentSweepMs)) return lowest;
      sweptRecentAt = now();
      const recent = idOf(longLagMs);
      return recent < lowest ? recent : lowest;
    },
    /** Reports the lowest id that a reading found, leased or not; null if it found none. */
    found(first: string | null): void {
      const recent = idOf(lagMs);
      lowest = first === null || first > recent ? recent : first;
    },
  };
}
