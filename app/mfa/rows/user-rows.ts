import { sql } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { isFree, leaseEnd, secondsLeft } from '../../db/leases/lease.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { MfaChange } from '../../db/tables/auth.ts';
import { AppError } from '../../errors/app-error.ts';

/** A user as the identity provider knows them, with the fencing token of the lease. */
export interface MfaUserRow extends Owner {
  /** The provider's id of the user; null if the vault has not created the user yet. */
  readonly subject: string | null;
  readonly isProvisioned: boolean;
  readonly change: MfaChange | null;
  readonly codesId: string | null;
  readonly token: number;
}

/** The lease of a user is held by another request. */
export interface Held {
  readonly secondsLeft: number;
}

export function isHeld(taken: MfaUserRow | Held | undefined): taken is Held {
  return taken !== undefined && 'secondsLeft' in taken;
}

const columns = [
  'mfa_users.user_id as userId',
  'mfa_users.tenant_id as tenantId',
  'mfa_users.subject',
  'mfa_users.is_provisioned as isProvisioned',
  'mfa_users.change',
  'mfa_users.codes_id as codesId',
  'mfa_users.token',
] as const;

const heldUntil = 'mfa_users.held_until';
const nextToken = sql<number>`mfa_users.token + 1`;

/** Takes the lease of a user, whose row is added if there is none. */
export async function takeLease(
  tx: Tx,
  { userId, tenantId }: Owner,
  subject: string | null,
): Promise<MfaUserRow | Held> {
  takesLock(tx, 'mfa user');
  const lease = { tenant_id: tenantId, held_until: leaseEnd() };
  const taken = await tx
    .insertInto('mfa_users')
    .values({
      ...lease,
      user_id: userId,
      subject,
      is_provisioned: subject === null,
      token: 1,
    })
    .onConflict((conflict) =>
      conflict
        .column('user_id')
        .doUpdateSet({ ...lease, token: nextToken })
        .where(isFree(heldUntil)),
    )
    .returning(columns)
    .executeTakeFirst();
  return taken ?? { secondsLeft: (await findSecondsLeft(tx, userId)) ?? 0 };
}

/** Takes the lease of a user. Resolves with undefined if the user has no row. */
export async function takeExistingLease(
  tx: Tx,
  userId: string,
): Promise<MfaUserRow | Held | undefined> {
  takesLock(tx, 'mfa user');
  const taken = await tx
    .updateTable('mfa_users')
    .set({ held_until: leaseEnd(), token: nextToken })
    .where('user_id', '=', userId)
    .where(isFree(heldUntil))
    .returning(columns)
    .executeTakeFirst();
  if (taken !== undefined) return taken;
  const left = await findSecondsLeft(tx, userId);
  return left === undefined ? undefined : { secondsLeft: left };
}

async function findSecondsLeft(tx: Tx, userId: string): Promise<number | undefined> {
  const row = await tx
    .selectFrom('mfa_users')
    .select(secondsLeft('held_until').as('left'))
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return row === undefined ? undefined : (row.left ?? 0);
}

type Holder = Pick<MfaUserRow, 'userId' | 'token'>;

/** Ends a lease, unless another request has taken it over. */
export async function endLease(tx: Tx, { userId, token }: Holder): Promise<void> {
  takesLock(tx, 'mfa user');
  await tx
    .updateTable('mfa_users')
    .set({ held_until: null })
    .where('user_id', '=', userId)
    .where('token', '=', token)
    .execute();
}

/** Locks the row of a holder. Throws busy if another request has taken the lease over. */
export async function confirmLease(tx: Tx, { userId, token }: Holder): Promise<void> {
  takesLock(tx, 'mfa user');
  const held = await tx
    .selectFrom('mfa_users')
    .select('token')
    .where('user_id', '=', userId)
    .where('token', '=', token)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (held === undefined) throw new AppError('busy');
}

export async function findMfaUser(tx: Tx, userId: string): Promise<MfaUserRow | undefined> {
  return tx
    .selectFrom('mfa_users')
    .select(columns)
    .where('user_id', '=', userId)
    .executeTakeFirst();
}

/** Stores what a holder changed. */
export async function setMfaUser(
  tx: Tx,
  { userId }: Pick<MfaUserRow, 'userId'>,
  set:
    | { readonly subject: string }
    | { readonly change: MfaChange | null; codes_id: string | null },
): Promise<void> {
  await tx.updateTable('mfa_users').set(set).where('user_id', '=', userId).execute();
}

/** Removes what is kept of a user, with a set-up that was begun. */
export async function removeMfaUser(tx: Tx, userId: string): Promise<void> {
  takesLock(tx, 'mfa user');
  await tx.deleteFrom('mfa_pending').where('user_id', '=', userId).execute();
  await tx.deleteFrom('mfa_users').where('user_id', '=', userId).execute();
}
