import { z } from 'zod';

/**
 * A place among the changes of a user, in one epoch of the vault's history. Its text is the epoch's
 * name, a dot, and the number of the change; in the first epoch, which has no name, only the
 * number.
 */
export interface Cursor {
  readonly epoch: string;
  /** The number of the change; 0 is before every change. */
  readonly change: number;
}

export const Cursor = z
  .string()
  .regex(/^(?:[0-9a-f]{16}\.)?(?:0|[1-9][0-9]{0,14})$/, 'must be a nextCursor')
  .transform(parseCursor);

function parseCursor(text: string): Cursor {
  const dot = text.indexOf('.');
  return { epoch: text.slice(0, Math.max(dot, 0)), change: Number(text.slice(dot + 1)) };
}

export function formatCursor({ epoch, change }: Cursor): string {
  return epoch === '' ? String(change) : `${epoch}.${change}`;
}

/**
 * Returns the cursor after which to read: `since`, or the start if this history never issued
 * `since`, because `since` is of another epoch or beyond the newest change `newest`.
 */
export function startAfter(since: Cursor, newest: Cursor): Cursor {
  const isKnown = since.epoch === newest.epoch && since.change <= newest.change;
  return isKnown ? since : { epoch: newest.epoch, change: 0 };
}

export function isSame(one: Cursor, other: Cursor): boolean {
  return one.epoch === other.epoch && one.change === other.change;
}
