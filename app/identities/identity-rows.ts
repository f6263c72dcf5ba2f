import type { Selectable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { Schema } from '../db/schema.ts';
import { keepReplaced } from '../replaced-keys/rows/replaced-keys.ts';
import { fingerprintOf, type PublicIdentity } from './public-identity.ts';

export type SharingKeyRow = Selectable<Schema['sharing_keys']>;

const identityColumns = [
  'user_id',
  'tenant_id',
  'public_key',
  'wrapped_private_key',
  'signing_key',
  'wrapped_signing_key',
  'version',
  'created_at',
  'updated_at',
] as const;

/** An identity as its client stores it, in base64; the private keys are wrapped. */
export interface StoredIdentity extends PublicIdentity {
  readonly wrappedPrivateKey: string;
  /** Null if nobody has the private half of `signingKey`. */
  readonly wrappedSigningKey: string | null;
}

/** Selects the identity of a user. */
export function selectIdentity(tx: Tx, { userId, tenantId }: Owner) {
  return tx
    .selectFrom('sharing_keys')
    .select(identityColumns)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId);
}

/** Locks the identity of a user, if it exists, for the rest of `tx`, and returns it. */
export function lockIdentity(tx: Tx, owner: Owner): Promise<SharingKeyRow | undefined> {
  takesLock(tx, 'sharing key');
  return selectIdentity(tx, owner).forUpdate().executeTakeFirst();
}

/** Returns the columns that hold an identity. */
function columnsOf(identity: StoredIdentity) {
  return {
    public_key: identity.publicKey,
    wrapped_private_key: identity.wrappedPrivateKey,
    signing_key: identity.signingKey,
    wrapped_signing_key: identity.wrappedSigningKey,
  };
}

type PublicRow = Pick<SharingKeyRow, 'public_key' | 'signing_key'>;

/** Returns the public half of an identity; undefined if there is none. */
export function publicIdentityOf(row: PublicRow): PublicIdentity;
export function publicIdentityOf(row: PublicRow | undefined): PublicIdentity | undefined;
export function publicIdentityOf(row: PublicRow | undefined): PublicIdentity | undefined {
  if (row === undefined) return undefined;
  return { publicKey: row.public_key, signingKey: row.signing_key };
}

/**
 * Inserts a user's first identity. Resolves with undefined if a concurrent transaction stored one
 * first.
 */
export function insertIdentity(
  tx: Tx,
  { userId, tenantId }: Owner,
  identity: StoredIdentity,
  now: Date,
): Promise<SharingKeyRow | undefined> {
  return tx
    .insertInto('sharing_keys')
    .values({
      user_id: userId,
      tenant_id: tenantId,
      ...columnsOf(identity),
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.columns(['user_id', 'tenant_id']).doNothing())
    .returning(identityColumns)
    .executeTakeFirst();
}

/**
 * Replaces a locked identity by its next version, and keeps the former for 30 days. The caller must
 * have a fresh proof that it is the user. Throws quota_exceeded.
 */
export async function replaceIdentity(
  tx: Tx,
  present: SharingKeyRow,
  identity: StoredIdentity,
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
      signing_key: present.signing_key,
      wrapped_signing_key: present.wrapped_signing_key,
      replaced_at: now,
    },
  );
  return updateIdentity(tx, present, identity, now);
}

/** Replaces a locked identity by its next version for good. */
export function updateIdentity(
  tx: Tx,
  { user_id: userId, tenant_id: tenantId, version }: SharingKeyRow,
  identity: StoredIdentity,
  now: Date,
): Promise<SharingKeyRow> {
  return tx
    .updateTable('sharing_keys')
    .set({ ...columnsOf(identity), version: version + 1, updated_at: now })
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .returning(identityColumns)
    .executeTakeFirstOrThrow();
}

/** The identity that another one replaced, and its signature of its successor. */
interface Succession {
  readonly previous: PublicIdentity | undefined;
  readonly endorsement: string | undefined;
}

/** Returns the event of an identity that was stored, from which others can follow it. */
export function identityChanged(row: SharingKeyRow, { previous, endorsement }: Succession) {
  return {
    action: 'sharing_key.changed',
    resource: { type: 'sharing_key', id: row.user_id },
    data: {
      ...recordedIdentity(row),
      previousFingerprint: previous === undefined ? null : fingerprintOf(previous),
      endorsement: endorsement ?? null,
    },
  } as const;
}

/** Returns an identity as entries have it. */
export function recordedIdentity(row: SharingKeyRow) {
  const identity = publicIdentityOf(row);
  return { ...identity, fingerprint: fingerprintOf(identity), version: row.version };
}
