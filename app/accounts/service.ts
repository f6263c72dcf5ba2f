import { isDeepStrictEqual } from 'node:util';
import type { Database, Owner, Tx } from '../db/database.ts';

/** An account that can log in. */
export interface ActiveAccount extends Owner {
  readonly plan: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /** Hex. */
  readonly salt: string;
  readonly verifier: string;
}

export interface Accounts {
  findActiveByEmail(email: string): Promise<ActiveAccount | undefined>;
  findActiveById(accountId: string): Promise<ActiveAccount | undefined>;
}

/**
 * Keeps an account, as it was found, until the transaction ends. Answers whether it still is so: not
 * closed, with the same credentials and rights.
 */
export async function holdUnchanged(tx: Tx, account: ActiveAccount): Promise<boolean> {
  const now = await findActive(tx)
    .where('accounts.id', '=', account.userId)
    .forShare()
    .executeTakeFirst();
  return isDeepStrictEqual(now, account);
}

export function createAccounts({ db }: { readonly db: Database }): Accounts {
  return {
    findActiveByEmail: (email) =>
      db.asService((tx) => findActive(tx).where('email', '=', email).executeTakeFirst()),
    findActiveById: (accountId) =>
      db.asService((tx) => findActive(tx).where('accounts.id', '=', accountId).executeTakeFirst()),
  };
}

function findActive(tx: Tx) {
  return tx
    .selectFrom('accounts')
    .innerJoin('credentials', 'credentials.account_id', 'accounts.id')
    .select([
      'accounts.id as userId',
      'tenant_id as tenantId',
      'plan',
      'roles',
      'scopes',
      'salt',
      'verifier',
    ])
    .where('status', '=', 'ACTIVE');
}
