import type { Insertable } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { Schema } from '../db/schema.ts';
import type { RowCipher, RowName } from '../encryption/row-cipher.ts';
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

/**
 * Finds the credential of an account for recovery logins, which is not encrypted. Only the service
 * login can see it.
 */
export function findRecovery(tx: Tx, { userId }: Owner): Promise<Credential | undefined> {
  return tx
    .selectFrom('credentials')
    .select(['salt', 'verifier'])
    .where('account_id', '=', userId)
    .where('method', '=', 'recovery')
    .executeTakeFirst();
}

/** Removes the credential of an account for recovery logins. */
export async function removeRecovery(tx: Tx, { userId }: Owner): Promise<void> {
  await tx
    .deleteFrom('credentials')
    .where('account_id', '=', userId)
    .where('method', '=', 'recovery')
    .execute();
}

/**
 * Stores the credential of an account for recovery logins in place of the previous one. It is not
 * encrypted: nobody can guess the recovery words.
 */
export async function storeRecovery(
  tx: Tx,
  { userId }: Owner,
  credential: Credential,
  now: Date,
): Promise<void> {
  const row = { account_id: userId, method: 'recovery', key_generation: null } as const;
  await storeRow(tx, { ...row, ...credential, created_at: now });
}

/** Encrypts and stores the credential of an account's password in place of the previous one. */
export async function storePassword(
  tx: Tx,
  cipher: RowCipher,
  { userId }: Pick<Owner, 'userId'>,
  { salt, verifier }: Credential,
  now: Date,
): Promise<void> {
  const { generation, values } = cipher.encrypt(passwordRow(userId), { salt, verifier });
  const row = { account_id: userId, method: 'password', key_generation: generation } as const;
  await storeRow(tx, { ...row, ...values, created_at: now });
}

/** Names the row of the credential of an account's password for the cipher. */
export function passwordRow(userId: string): RowName {
  return { table: 'credentials', key: [userId, 'password'] };
}

async function storeRow(tx: Tx, row: Insertable<Schema['credentials']>): Promise<void> {
  const { account_id: _id, method: _method, ...content } = row;
  await tx
    .insertInto('credentials')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'method']).doUpdateSet(content))
    .execute();
}
