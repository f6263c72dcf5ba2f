import { z } from 'zod';

/**
 * A place among the changes of a user, in one epoch of the vault's history. As text it is the number
 * of the change, behind the epoch's name and a dot; the first epoch has no name.
 */
export interface Cursor {
  readonly epoch: string;
  /** 0 is before every change. */
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
 * Where reading after `since` begins, while `newest` is the newest change: at the start for a cursor
 * that this history never gave out, as it is of another epoch or beyond.
 */
export function startAfter(since: Cursor, newest: Cursor): Cursor {
  const isKnown = since.epoch === newest.epoch && since.change <= newest.change;
  return isKnown ? since : { epoch: newest.epoch, change: 0 };
}

export function isSame(one: Cursor, other: Cursor): boolean {
  return one.epoch === other.epoch && one.change === other.change;
}
