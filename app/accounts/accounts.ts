import { isDeepStrictEqual } from 'node:util';
import type { Database, Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import type { CredentialMethod } from '../db/tables/accounts.ts';

/** An account that can log in. */
export interface ActiveAccount extends Owner {
  readonly plan: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /** The login method of `salt` and `verifier`. */
  readonly method: CredentialMethod;
  /** The salt in hex. */
  readonly salt: string;
  /** The SRP verifier in hex. */
  readonly verifier: string;
}

/**
 * The credentials of an account for one login method; null if the account has no credentials for
 * this method.
 */
interface FoundCredentials {
  readonly userId: string;
  readonly salt: string | null;
  readonly verifier: string | null;
}

/**
 * Locks the account's row against changes for the rest of `tx`. Resolves with whether the account
 * still equals `account`: active, with the same credentials, rights, plan and tenant.
 */
export async function lockUnchanged(tx: Tx, account: ActiveAccount): Promise<boolean> {
  takesLock(tx, 'account');
  const now = await findActive(tx, account.method)
    .where('accounts.id', '=', account.userId)
    .forShare()
    .executeTakeFirst();
  return isDeepStrictEqual(now, account);
}

export type Accounts = ReturnType<typeof createAccounts>;

/** Creates the service that finds active accounts and their credentials. */
export function createAccounts({ db }: { readonly db: Database }) {
  return {
    /**
     * Finds the credentials of an active account by its e-mail address. Runs one query in every
     * case, so that the timing reveals little about which accounts exist.
     */
    findCredentials: (
      email: string,
      method: CredentialMethod,
    ): Promise<FoundCredentials | undefined> =>
      db.asService((tx) =>
        tx
          .selectFrom('accounts')
          .leftJoin('credentials', (join) =>
            join.onRef('credentials.account_id', '=', 'accounts.id').on('method', '=', method),
          )
          .select(['accounts.id as userId', 'salt', 'verifier'])
          .where('email', '=', email)
          .where('status', '=', 'ACTIVE')
          .executeTakeFirst(),
      ),

    /**
     * Finds an active account with its credentials for `method`. Resolves with undefined if the
     * account is not active or has no such credentials.
     */
    findActiveById: (
      accountId: string,
      method: CredentialMethod = 'password',
    ): Promise<ActiveAccount | undefined> =>
      db.asService((tx) =>
        findActive(tx, method).where('accounts.id', '=', accountId).executeTakeFirst(),
      ),
  };
}

function findActive(tx: Tx, method: CredentialMethod) {
  return tx
    .selectFrom('accounts')
    .innerJoin('credentials', 'credentials.account_id', 'accounts.id')
    .select([
      'accounts.id as userId',
      'tenant_id as tenantId',
      'plan',
      'roles',
      'scopes',
      'method',
      'salt',
      'verifier',
    ])
    .where('method', '=', method)
    .where('status', '=', 'ACTIVE');
}
