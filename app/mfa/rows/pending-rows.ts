import type { Tx } from '../../db/database.ts';

/** A set-up of MFA that waits for its first code. */
export interface Pending {
  readonly nonce: string;
  readonly keyGeneration: number;
  /** The id that the TOTP has at the identity provider once it is written there. */
  readonly credentialId: string;
  readonly expiresAt: Date;
}

export function findPending(tx: Tx, userId: string): Promise<Pending | undefined> {
  return tx
    .selectFrom('mfa_pending')
    .select([
      'nonce',
      'key_generation as keyGeneration',
      'credential_id as credentialId',
      'expires_at as expiresAt',
    ])
    .where('user_id', '=', userId)
    .executeTakeFirst();
}

/** Stores a set-up in place of the one before, whose secret is void from now on. */
export async function putPending(tx: Tx, userId: string, pending: Pending): Promise<void> {
  const { nonce, keyGeneration, credentialId, expiresAt } = pending;
  await removePending(tx, userId);
  await tx
    .insertInto('mfa_pending')
    .values({
      user_id: userId,
      nonce,
      key_generation: keyGeneration,
      credential_id: credentialId,
      expires_at: expiresAt,
    })
    .execute();
}

/**
 * Marks a time step of the secret as used. Resolves with false if its code, or a later one, was
 * used already.
 */
export async function takeStep(
  tx: Tx,
  userId: string,
  { credentialId }: Pending,
  step: number,
): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('mfa_pending')
    .set({ last_step: step })
    .where('user_id', '=', userId)
    .where('credential_id', '=', credentialId)
    .where(({ or, eb }) => or([eb('last_step', 'is', null), eb('last_step', '<', step)]))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function removePending(tx: Tx, userId: string): Promise<void> {
  await tx.deleteFrom('mfa_pending').where('user_id', '=', userId).execute();
}

/** Counts the users with something unfinished at the time `now`. */
export async function countUnfinished(tx: Tx, now: Date): Promise<number> {
  const { count } = await selectUnfinished(tx, now)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

interface UnfinishedPage {
  readonly now: Date;
  /** The id of the user after whom the page begins. */
  readonly after: string;
  readonly limit: number;
}

/** Lists the users with something unfinished, in the order of their ids. */
export async function listUnfinished(
  tx: Tx,
  { now, after, limit }: UnfinishedPage,
): Promise<string[]> {
  const rows = await selectUnfinished(tx, now)
    .select('mfa_users.user_id as userId')
    .where('mfa_users.user_id', '>', after)
    .orderBy('mfa_users.user_id')
    .limit(limit)
    .execute();
  return rows.map(({ userId }) => userId);
}

/**
 * Selects the users with a set-up that has expired, or with a change that was begun and not
 * recorded.
 */
function selectUnfinished(tx: Tx, now: Date) {
  return tx
    .selectFrom('mfa_users')
    .leftJoin('mfa_pending', 'mfa_pending.user_id', 'mfa_users.user_id')
    .where(({ or, eb }) =>
      or([eb('mfa_pending.expires_at', '<=', now), eb('mfa_users.change', 'is not', null)]),
    );
}
