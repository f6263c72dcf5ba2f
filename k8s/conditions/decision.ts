import type { EventNote } from './set-conditions.ts';

/**
 * A decision about a resource. The status is written first, then the action is carried out, if
 * there is one.
 */
export interface Decision<Status, Action> {
  readonly status: Status;
  readonly action: Action | undefined;
  readonly events: readonly EventNote[];
  /** When something is due even if nothing changes; undefined if nothing is. */
  readonly wakeAt: Date | undefined;
}
