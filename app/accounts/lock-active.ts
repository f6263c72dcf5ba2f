import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { AppError } from '../errors/app-error.ts';

/**
 * Locks the active account with an e-mail address against changes for the rest of `tx`. Resolves
 * with the account and its rights. Throws user_not_found.
 */
export async function lockActive(tx: Tx, email: string) {
  takesLock(tx, 'account');
  const account = await tx
    .selectFrom('accounts')
    .select(['id as userId', 'tenant_id as tenantId', 'plan', 'roles', 'scopes'])
    .where('email', '=', email)
    .where('status', '=', 'ACTIVE')
    .forShare()
    .executeTakeFirst();
  if (account === undefined) throw new AppError('user_not_found');
  return account;
}

/**
 * Locks the active account of a user against changes for the rest of `tx`. Resolves with its e-mail
 * address. Throws not_found if there is no such account any more.
 */
export async function lockActiveById(tx: Tx, userId: string): Promise<string> {
  takesLock(tx, 'account');
  const account = await tx
    .selectFrom('accounts')
    .select('email')
    .where('id', '=', userId)
    .where('status', '=', 'ACTIVE')
    .forShare()
    .executeTakeFirst();
  if (account === undefined || account.email === null) throw new AppError('not_found');
  return account.email;
}
