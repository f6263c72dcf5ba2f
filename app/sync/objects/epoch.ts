import { randomBytes } from 'node:crypto';
import type { Tx } from '../../db/database.ts';

/**
 * Begins a new epoch of the history of changes, as after a restore, so that no earlier cursor is
 * valid. Its name is random, since a counter would repeat after the next restore of a backup. Call
 * it with the service login. Returns the name.
 */
export async function beginEpoch(tx: Tx): Promise<string> {
  const { epoch } = await tx
    .updateTable('sync_epochs')
    .set({ epoch: randomBytes(8).toString('hex') })
    .returning('epoch')
    .executeTakeFirstOrThrow();
  return epoch;
}
