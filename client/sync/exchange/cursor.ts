import { z } from 'zod';

/**
 * A place among the changes of the user: a decimal number, as the vault counts them, behind the epoch
 * that it counts in and a dot. The first epoch has no name; a restored backup begins another.
 */
export const Cursor = z.string().regex(/^(?:[0-9a-f]{16}\.)?(?:0|[1-9][0-9]{0,14})$/);

/** Before every change. */
export const firstCursor = '0';

/** Whether the vault has lost what it had told by `known`, as by a backup that was restored. */
export function hasGoneBack(cursor: string, known: string): boolean {
  if (known === firstCursor) return false;
  const [now, before] = [parse(cursor), parse(known)];
  return now.epoch !== before.epoch || now.change < before.change;
}

function parse(cursor: string): { epoch: string; change: number } {
  const [change = '', epoch = ''] = cursor.split('.').toReversed();
  return { epoch, change: Number(change) };
}
