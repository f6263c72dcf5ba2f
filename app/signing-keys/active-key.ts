import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';

/**
 * Returns whether a signing key is active. Locks an active key until the transaction ends, so that
 * the key cannot be retired before the transaction's seals are stored.
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
