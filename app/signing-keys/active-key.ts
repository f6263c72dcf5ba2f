import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';

/**
 * Tells whether a signing key is active, and keeps it so until the transaction ends: a key is
 * retired before its seals are stored, or after them.
 */
export async function holdActiveKey(tx: Tx, keyId: string): Promise<boolean> {
  takesLock(tx, 'signing keys');
  const key = await tx
    .selectFrom('signing_keys')
    .select('key_id')
    .where('key_id', '=', keyId)
    .where('state', '=', 'ACTIVE')
    .forShare()
    .executeTakeFirst();
  return key !== undefined;
}
