import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { CredentialMethod } from '../db/tables/accounts.ts';
import { AppError } from '../errors/app-error.ts';

/** A salt and an SRP verifier, both in hex. */
export interface Credential {
  readonly salt: string;
  readonly verifier: string;
}

/**
 * Locks the account's row for the rest of `tx`, which must be a transaction of the service login.
 * Throws invalid_token unless the account is active.
 */
export async function lockAccount(tx: Tx, { userId, tenantId }: Owner): Promise<void> {
  takesLock(tx, 'account');
  const account = await tx
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'ACTIVE')
    .forUpdate()
    .executeTakeFirst();
  if (account === undefined) throw new AppError('invalid_token');
}

/** Finds the credential of an account for one login method. Only the service login can see it. */
export function findCredential(
  tx: Tx,
  { userId }: Owner,
  method: CredentialMethod,
): Promise<Credential | undefined> {
  return tx
    .selectFrom('credentials')
    .select(['salt', 'verifier'])
    .where('account_id', '=', userId)
    .where('method', '=', method)
    .executeTakeFirst();
}

/** Removes the credential of an account for one login method. */
export async function removeCredential(
  tx: Tx,
  { userId }: Owner,
  method: CredentialMethod,
): Promise<void> {
  await tx
    .deleteFrom('credentials')
    .where('account_id', '=', userId)
    .where('method', '=', method)
    .execute();
}

/**
 * Stores the credential of an account for one login method, and replaces the previous credential
 * for this method.
 */
export async function storeCredential(
  tx: Tx,
  { userId }: Owner,
  method: CredentialMethod,
  { salt, verifier }: Credential,
  now: Date,
): Promise<void> {
  await tx
    .insertInto('credentials')
    .values({ account_id: userId, method, salt, verifier, created_at: now })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'method']).doUpdateSet({ salt, verifier, created_at: now }),
    )
    .execute();
}
