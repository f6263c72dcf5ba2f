import { randomBytes } from 'node:crypto';
import type { Tx } from '../../db/database.ts';

/**
 * Begins a new epoch of the history of changes, for example after a restore, so that all earlier
 * cursors become invalid. The epoch's name is random, since a counter could repeat after the next
 * restore of a backup. `tx` must be a transaction of the service login. Returns the name.
 */
export async function beginEpoch(tx: Tx): Promise<string> {
  const { epoch } = await tx
    .updateTable('sync_epochs')
    .set({ epoch: randomBytes(8).toString('hex') })
    .returning('epoch')
    .executeTakeFirstOrThrow();
  return epoch;
}
