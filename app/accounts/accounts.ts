import { isDeepStrictEqual } from 'node:util';
import type { Database, Owner, Tx } from '../db/database.ts';
import type { CredentialMethod } from '../db/tables/accounts.ts';

/** An account that can log in. */
export interface ActiveAccount extends Owner {
  readonly plan: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /** What it was found to log in with. */
  readonly method: CredentialMethod;
  /** Hex. */
  readonly salt: string;
  readonly verifier: string;
}

/** Null in an account that does not log in by the method asked for. */
interface Credentials {
  readonly userId: string;
  readonly salt: string | null;
  readonly verifier: string | null;
}

export interface Accounts {
  /** One query, whatever there is. */
  findCredentials(email: string, method: CredentialMethod): Promise<Credentials | undefined>;
  /** Undefined also for an account that does not log in by `method`, the password unless said. */
  findActiveById(accountId: string, method?: CredentialMethod): Promise<ActiveAccount | undefined>;
}

/**
 * Keeps an account, as it was found, until the transaction ends. Answers whether it still is so: not
 * closed, with the same credentials and rights.
 */
export async function holdUnchanged(tx: Tx, account: ActiveAccount): Promise<boolean> {
  const now = await findActive(tx, account.method)
    .where('accounts.id', '=', account.userId)
    .forShare()
    .executeTakeFirst();
  return isDeepStrictEqual(now, account);
}

export function createAccounts({ db }: { readonly db: Database }): Accounts {
  return {
    findCredentials: (email, method) =>
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
    findActiveById: (accountId, method = 'password') =>
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
