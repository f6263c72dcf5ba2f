import type { Selectable } from 'kysely';
import type { EventData } from '../../audit-trail/event.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import { endSessions } from '../../sessions/login-sessions.ts';
import type { Database, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
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
  /**
   * Whether to end every login session of the account, so that the account loses the rights at
   * once.
   */
  readonly sessions: boolean;
}

/** The changes as audit entries record them; empty if nothing changed. */
type Granted = EventData<'account.granted'>;
type Revoked = EventData<'account.revoked'>;

interface GrantsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
}

type Account = Pick<
  Selectable<Schema['accounts']>,
  'id' | 'tenant_id' | 'plan' | 'roles' | 'scopes'
>;

export type Grants = ReturnType<typeof createGrants>;

/**
 * Creates the service by which the vault's operator changes accounts. Each change is one
 * transaction with its audit entry, and idempotent. Access tokens contain a change only after the
 * next refresh.
 */
export function createGrants({ db, audit }: GrantsOptions) {
  return {
    /**
     * Grants roles and scopes to an account, and sets its plan and tenant if given. Throws
     * user_not_found, or an Error that says why the tenant cannot change.
     */
    grant: (email: string, grant: Grant): Promise<Granted> =>
      db.asService(async (tx) => {
        const account = await lockAccount(tx, email);
        const changes = await grantTo(tx, account, grant);
        const tenantId = changes.tenant ?? account.tenant_id;
        if (isChange(changes)) {
          await audit.append(tx, {
            ...circumstances(account, tenantId),
            action: 'account.granted',
            data: changes,
          });
        }
        return changes;
      }),

    /**
     * Revokes roles and scopes of an account, and ends its login sessions if `sessions` is true.
     * Throws user_not_found.
     */
    revoke: (email: string, revocation: Revocation): Promise<Revoked> =>
      db.asService(async (tx) => {
        const account = await lockAccount(tx, email);
        const changes = await revokeFrom(tx, account, revocation);
        if (isChange(changes)) {
          await audit.append(tx, {
            ...circumstances(account, account.tenant_id),
            action: 'account.revoked',
            data: changes,
          });
        }
        return changes;
      }),
  };
}

function isChange(changes: Granted | Revoked): boolean {
  return Object.keys(changes).length > 0;
}

function circumstances({ id }: Account, tenantId: string) {
  return {
    actor: { type: 'system', id: 'cli' },
    owner: { userId: id, tenantId },
    resource: { type: 'account', id },
    requestId: null,
  } as const;
}

async function grantTo(
  tx: Tx,
  account: Account,
  { roles, scopes, tenant, plan }: Grant,
): Promise<Granted> {
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
    ...(newRoles.length === 0 ? {} : { roles: newRoles.join(' ') }),
    ...(newScopes.length === 0 ? {} : { scopes: newScopes.join(' ') }),
    ...(plan === undefined || plan === account.plan ? {} : { plan }),
    ...(moves ? { tenant, previousTenant: account.tenant_id } : {}),
  };
}

async function revokeFrom(
  tx: Tx,
  account: Account,
  { roles, scopes, sessions }: Revocation,
): Promise<Revoked> {
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
    ...(oldRoles.length === 0 ? {} : { roles: oldRoles.join(' ') }),
    ...(oldScopes.length === 0 ? {} : { scopes: oldScopes.join(' ') }),
    ...(ended === 0 ? {} : { sessions: ended }),
  };
}

/**
 * Locks the row of the active account with an e-mail address for the rest of `tx`, and returns the
 * account. Throws user_not_found.
 */
async function lockAccount(tx: Tx, email: string): Promise<Account> {
  takesLock(tx, 'account');
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

function without(all: readonly string[], some: readonly string[]): string[] {
  return all.filter((one) => !some.includes(one));
}
