import { z } from 'zod';

/**
 * A position in the sequence of the user's changes: the name of the vault's epoch, a dot, and the
 * decimal number of the change. In the first epoch, name and dot are omitted; restoring a backup
 * begins a new epoch.
 */
export const Cursor = z.string().regex(/^(?:[0-9a-f]{16}\.)?(?:0|[1-9][0-9]{0,14})$/);

/** The cursor before the first change. */
export const firstCursor = '0';

/**
 * Returns whether `cursor` is behind `known` or in another epoch. The vault has then lost changes
 * that it had reported, as after the restore of a backup.
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
