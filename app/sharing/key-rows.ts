import type { Selectable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { Schema } from '../db/schema.ts';
import { keepReplaced } from '../replaced-keys/rows/replaced-keys.ts';

export type SharingKeyRow = Selectable<Schema['sharing_keys']>;

/** A key pair as its client stores it: both keys in base64, the private key wrapped. */
interface KeyPair {
  readonly publicKey: string;
  readonly wrappedPrivateKey: string;
}

/** Selects the sharing key of a user. */
export function selectSharingKey(tx: Tx, { userId, tenantId }: Owner) {
  return tx
    .selectFrom('sharing_keys')
    .selectAll()
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId);
}

/** Locks the sharing key of a user, if it exists, for the rest of `tx`, and returns it. */
export function lockSharingKey(tx: Tx, owner: Owner): Promise<SharingKeyRow | undefined> {
  takesLock(tx, 'sharing key');
  return selectSharingKey(tx, owner).forUpdate().executeTakeFirst();
}

/**
 * Replaces a locked key pair by its next version, and keeps the former for 30 days. The caller must
 * have a fresh proof of the user's identity. Throws quota_exceeded.
 */
export async function replaceSharingKey(
  tx: Tx,
  present: SharingKeyRow,
  { publicKey, wrappedPrivateKey }: KeyPair,
  now: Date,
): Promise<SharingKeyRow> {
  const { user_id: userId, tenant_id: tenantId, version } = present;
  await keepReplaced(
    tx,
    { userId, tenantId },
    {
      id: uuidv7(),
      kind: 'SHARING',
      version,
      wrapped_key: present.wrapped_private_key,
      public_key: present.public_key,
      replaced_at: now,
    },
  );
  return tx
    .updateTable('sharing_keys')
    .set({
      public_key: publicKey,
      wrapped_private_key: wrappedPrivateKey,
      version: version + 1,
      updated_at: now,
    })
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .returningAll()
    .executeTakeFirstOrThrow();
}
