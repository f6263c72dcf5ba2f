import { isDeepStrictEqual } from 'node:util';
import { atOnce, type Database, type Owner, type Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { compileOnce } from '../db/compile-once.ts';
import type { CredentialMethod } from '../db/tables/accounts.ts';
import type { Encrypted, RowCipher } from '../encryption/row-cipher.ts';
import { passwordRow, type Credential } from './credential-rows.ts';

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

export type Accounts = ReturnType<typeof createAccounts>;

interface AccountsOptions {
  readonly db: Database;
  readonly cipher: RowCipher;
}

/** Creates the service that finds active accounts and their credentials. */
export function createAccounts({ db, cipher }: AccountsOptions) {
  const open = createOpening(cipher);

  function toActive(row: ActiveRow | undefined, method: CredentialMethod) {
    const opened = open(row, method);
    if (row === undefined || opened === undefined) return undefined;
    const { key_generation: _generation, ...account } = row;
    return { ...account, ...opened } satisfies ActiveAccount;
  }

  async function readActive(tx: Tx, sought: SoughtAccount): Promise<ActiveAccount | undefined> {
    const [row] = await selectActive(tx, sought);
    return toActive(row, sought.method);
  }

  return {
    /**
     * Finds the credentials of an active account by its e-mail address. Runs one query and one
     * decryption in every case, so that the timing reveals little about which accounts exist.
     */
    async findCredentials(
      email: string,
      method: CredentialMethod,
    ): Promise<FoundCredentials | undefined> {
      const [row] = await db.asService((tx) => selectCredentials(tx, { email, method }), atOnce);
      const opened = open(row, method);
      if (row === undefined) return undefined;
      return { userId: row.userId, salt: null, verifier: null, ...opened };
    },

    /**
     * Finds an active account with its password. Resolves with undefined if the account is not
     * active or has no password, at the cost of a decryption too.
     */
    findActiveById: (accountId: string): Promise<ActiveAccount | undefined> =>
      db.asService((tx) => readActive(tx, { accountId, method: 'password' }), atOnce),

    /** Finds an active account as `findActiveById` does, in a transaction of the service login. */
    readActive,

    /** Returns the e-mail address of an account; undefined for a user of another issuer. */
    findEmail: ({ userId, tenantId }: Owner): Promise<string | undefined> =>
      db.asService(async (tx) => {
        const account = await tx
          .selectFrom('accounts')
          .select('email')
          .where('id', '=', userId)
          .where('tenant_id', '=', tenantId)
          .executeTakeFirst();
        return account?.email ?? undefined;
      }),

    /**
     * Locks the account's row against changes for the rest of `tx`. Resolves with whether the
     * account still equals `account`: active, with the same credentials, rights, plan and tenant.
     */
    async lockUnchanged(tx: Tx, account: ActiveAccount): Promise<boolean> {
      takesLock(tx, 'account');
      const [row] = await lockActive(tx, { accountId: account.userId, method: account.method });
      return isDeepStrictEqual(toActive(row, account.method), account);
    },
  };
}

type ActiveRow = ActiveAccount & { readonly key_generation: number | null };

interface CredentialRow {
  readonly userId: string;
  readonly key_generation: number | null;
  readonly salt: string | null;
  readonly verifier: string | null;
}

/**
 * Returns the function that decrypts the credentials of a row; undefined if the row has none. For a
 * password it then decrypts a stand-in, at the same cost.
 */
function createOpening(cipher: RowCipher) {
  const nobodysRow = passwordRow('nobody');
  let standIn: Encrypted<'salt' | 'verifier'> | undefined;

  function decryptStandIn(): void {
    standIn ??= cipher.encrypt(nobodysRow, { salt: 'a'.repeat(64), verifier: 'a'.repeat(768) });
    cipher.decrypt(nobodysRow, standIn);
  }

  return (row: CredentialRow | undefined, method: CredentialMethod): Credential | undefined => {
    if (row === undefined || row.salt === null || row.verifier === null) {
      if (method === 'password') decryptStandIn();
      return undefined;
    }
    const { userId, key_generation: generation, salt, verifier } = row;
    return cipher.decrypt(passwordRow(userId), { generation, values: { salt, verifier } });
  };
}

const selectCredentials = compileOnce(
  ({ email, method }: { readonly email: string; readonly method: CredentialMethod }, db) =>
    db
      .selectFrom('accounts')
      .leftJoin('credentials', (join) =>
        join.onRef('credentials.account_id', '=', 'accounts.id').on('method', '=', method),
      )
      .select(['accounts.id as userId', 'key_generation', 'salt', 'verifier'])
      .where('email', '=', email)
      .where('status', '=', 'ACTIVE')
      .compile(),
);

/** An account, and the login method whose credentials are sought. */
export interface SoughtAccount {
  readonly accountId: string;
  readonly method: CredentialMethod;
}

const selectActive = compileOnce((sought: SoughtAccount, db) => findActive(sought, db).compile());
const lockActive = compileOnce((sought: SoughtAccount, db) =>
  findActive(sought, db).forShare().compile(),
);

function findActive({ accountId, method }: SoughtAccount, db: Tx) {
  return db
    .selectFrom('accounts')
    .innerJoin('credentials', 'credentials.account_id', 'accounts.id')
    .select([
      'accounts.id as userId',
      'tenant_id as tenantId',
      'plan',
      'roles',
      'scopes',
      'method',
      'key_generation',
      'salt',
      'verifier',
    ])
    .where('method', '=', method)
    .where('status', '=', 'ACTIVE')
    .where('accounts.id', '=', accountId);
}
