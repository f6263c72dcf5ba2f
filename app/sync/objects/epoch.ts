import { randomBytes } from 'node:crypto';
import type { Tx } from '../../db/database.ts';

/**
 * Begins another epoch of the history of changes, as after a restore: cursors from before are no
 * longer good. Its name is random, since a number that is counted on would come back with the backup.
 * By the service login. Answers the name.
 */
export async function beginEpoch(tx: Tx): Promise<string> {
  const { epoch } = await tx
    .updateTable('sync_epochs')
    .set({ epoch: randomBytes(8).toString('hex') })
    .returning('epoch')
    .executeTakeFirstOrThrow();
  return epoch;
}
