import { encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import type { Connection } from './connection.ts';
import type { SyncTransaction } from './sync-schema.ts';

const ownerLabel = 'Service_Sync_Store_v1';

/**
 * Binds the store to this user if it is new, and takes it over from any client that held it.
 * Resolves with the id of this client as holder. Throws store_of_another_user.
 */
export async function takeStore(
  connection: Connection,
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

/** Throws store_in_use if another client has taken the store since. */
export async function verifyHolder(transaction: SyncTransaction, holder: string): Promise<void> {
  const present = await transaction.objectStore('meta').get('holder');
  if (present !== holder) throw new ClientError('store_in_use');
}

/** Derives a tag that tells master keys apart and discloses nothing about them. */
async function ownerOf(masterKey: Bytes): Promise<string> {
  return encodeBase64(await deriveKey(masterKey, ownerLabel));
}
