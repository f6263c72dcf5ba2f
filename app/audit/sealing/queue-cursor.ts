import { NIL } from 'uuid';
import { firstIdOf } from '../../audit-trail/first-id.ts';

/** How long after its id was made an entry may commit and still be found at once. */
const lagMs = 2_000;
const sweepMs = 5_000;

/**
 * Creates a cursor of the queue of unsealed entries: the lowest id that may still wait. A reader
 * that begins there passes none of the rows that were removed before, which stay in the index while
 * an old snapshot (a dump) may see them. Every 5 s one reading begins at the start, for entries
 * that commit late under an older id.
 */
export function createQueueCursor() {
  let lowest: string = NIL;
  let sweptAt = -Infinity;
  return {
    /** Returns the id at which the next reading of the queue begins. */
    next(): string {
      if (performance.now() - sweptAt < sweepMs) return lowest;
      sweptAt = performance.now();
      return NIL;
    },
    /** Reports the lowest id that a reading found, leased or not; null if it found none. */
    found(first: string | null): void {
      const recent = firstIdOf(new Date(Date.now() - lagMs));
      lowest = first === null || first > recent ? recent : first;
    },
  };
}
