import { z } from 'zod';

/**
 * A position in the sequence of the user's changes: the epoch in which the vault counts, a dot, and
 * the decimal number of the change. The first epoch has no name and no dot; restoring a backup
 * begins another.
 */
export const Cursor = z.string().regex(/^(?:[0-9a-f]{16}\.)?(?:0|[1-9][0-9]{0,14})$/);

/** The position before every change. */
export const firstCursor = '0';

/**
 * Returns whether the vault has lost changes that it had reported by `known`, as after a restored
 * backup.
 */
export function hasGoneBack(cursor: string, known: string): boolean {
  if (known === firstCursor) return false;
  const [now, before] = [parse(cursor), parse(known)];
  return now.epoch !== before.epoch || now.change < before.change;
}

function parse(cursor: string): { readonly epoch: string; readonly change: number } {
  const [change = '', epoch = ''] = cursor.split('.').toReversed();
  return { epoch, change: Number(change) };
}
