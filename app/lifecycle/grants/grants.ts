import type { Selectable } from 'kysely';
import type { AuditAction, AuditEvent } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import { endSessions } from '../../sessions/login-sessions.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Role, Scope } from '../../accounts/rights.ts';
import { moveToTenant } from './tenant-move.ts';

interface Rights {
  readonly roles: readonly Role[];
  readonly scopes: readonly Scope[];
}

interface Grant extends Rights {
  readonly tenant: string | undefined;
  readonly plan: string | undefined;
}

interface Revocation extends Rights {
  /** Ends every session of the account: what it was revoked, it loses at once. */
  readonly sessions: boolean;
}

/** What changed, in words; empty where all was so already. */
type Changes = AuditEvent['data'];

/**
 * What the operator of the vault changes about accounts: each change and its entry are one
 * transaction, and doing it again changes nothing. Access tokens show it when they are next
 * refreshed.
 */
export interface Grants {
  /** Throws user_not_found, or where the tenant cannot change an error that says why. */
  grant(email: string, grant: Grant): Promise<Changes>;
  /** Throws user_not_found. */
  revoke(email: string, revocation: Revocation): Promise<Changes>;
}

interface GrantsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
}

type Account = Pick<
  Selectable<Schema['accounts']>,
  'id' | 'tenant_id' | 'plan' | 'roles' | 'scopes'
>;

export function createGrants({ db, audit }: GrantsOptions): Grants {
  function change(
    email: string,
    action: Extract<AuditAction, 'account.granted' | 'account.revoked'>,
    work: (tx: Tx, account: Account) => Promise<Changes>,
  ): Promise<Changes> {
    return db.asService(async (tx) => {
      const account = await holdAccount(tx, email);
      const changes = await work(tx, account);
      if (Object.keys(changes).length === 0) return changes;
      const tenantId = String(changes['tenant'] ?? account.tenant_id);
      await audit.append(tx, {
        action,
        actor: { type: 'system', id: 'cli' },
        owner: { userId: account.id, tenantId },
        resource: { type: 'account', id: account.id },
        requestId: null,
        data: changes,
      });
      return changes;
    });
  }

  return {
    grant: (email, { roles, scopes, tenant, plan }) =>
      change(email, 'account.granted', async (tx, account) => {
        const newRoles = roles.filter((role) => !account.roles.includes(role));
        const newScopes = scopes.filter((scope) => !account.scopes.includes(scope));
        await tx
          .updateTable('accounts')
          .set({
            roles: [...account.roles, ...newRoles],
            scopes: [...account.scopes, ...newScopes],
            plan: plan ?? account.plan,
          })
          .where('id', '=', account.id)
          .execute();
        const moves = tenant !== undefined && tenant !== account.tenant_id;
        if (moves) await moveToTenant(tx, account.id, tenant);
        return {
          ...named('roles', newRoles),
          ...named('scopes', newScopes),
          ...(plan === undefined || plan === account.plan ? {} : { plan }),
          ...(moves ? { tenant, previousTenant: account.tenant_id } : {}),
        };
      }),

    revoke: (email, { roles, scopes, sessions }) =>
      change(email, 'account.revoked', async (tx, account) => {
        const oldRoles = roles.filter((role) => account.roles.includes(role));
        const oldScopes = scopes.filter((scope) => account.scopes.includes(scope));
        await tx
          .updateTable('accounts')
          .set({
            roles: without(account.roles, oldRoles),
            scopes: without(account.scopes, oldScopes),
          })
          .where('id', '=', account.id)
          .execute();
        const ended = sessions ? await endSessions(tx, account.id) : 0;
        return {
          ...named('roles', oldRoles),
          ...named('scopes', oldScopes),
          ...(ended === 0 ? {} : { sessions: ended }),
        };
      }),
  };
}

/** Locked until the transaction ends. Throws user_not_found. */
async function holdAccount(tx: Tx, email: string): Promise<Account> {
  const account = await tx
    .selectFrom('accounts')
    .select(['id', 'tenant_id', 'plan', 'roles', 'scopes'])
    .where('email', '=', email)
    .where('status', '=', 'ACTIVE')
    .forUpdate()
    .executeTakeFirst();
  if (account === undefined) throw new AppError('user_not_found');
  return account;
}

/** Names separated by spaces, as in OAuth; nothing where there are none. */
function named(what: string, names: readonly string[]): Changes {
  return names.length === 0 ? {} : { [what]: names.join(' ') };
}

function without(all: readonly string[], some: readonly string[]): string[] {
  return all.filter((one) => !some.includes(one));
}
