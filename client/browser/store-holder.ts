import { encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import type { Connection } from './connection.ts';
import type { SyncSchema, SyncTransaction } from './sync-schema.ts';

const ownerLabel = 'Service_Sync_Store_v1';

/**
 * Makes this client the holder of the store, in place of any earlier holder, and binds a new store
 * to the user of the master key. Resolves with the random id of this holder. Throws
 * store_of_another_user if the store is bound to a master key that is not given.
 */
export async function takeStore(
  connection: Connection<SyncSchema>,
  { masterKey, earlierKeys = [] }: MasterKeys,
): Promise<string> {
  const owner = await ownerOf(masterKey);
  const earlierOwners = await Promise.all(earlierKeys.map(ownerOf));
  const holder = crypto.randomUUID();
  await connection.transact(async (transaction) => {
    const meta = transaction.objectStore('meta');
    const found = (await meta.get('owner')) ?? owner;
    if (found !== owner && !earlierOwners.includes(found)) {
      throw new ClientError('store_of_another_user');
    }
    await meta.put(owner, 'owner');
    await meta.put(holder, 'holder');
  });
  return holder;
}

/**
 * Throws store_in_use if `holder` no longer holds the store, because another client has taken it
 * over.
 */
export async function verifyHolder(transaction: SyncTransaction, holder: string): Promise<void> {
  const present = await transaction.objectStore('meta').get('holder');
  if (present !== holder) throw new ClientError('store_in_use');
}

/** Derives a tag that identifies a master key and discloses nothing about it. */
async function ownerOf(masterKey: Bytes): Promise<string> {
  return encodeBase64(await deriveKey(masterKey, ownerLabel));
}
