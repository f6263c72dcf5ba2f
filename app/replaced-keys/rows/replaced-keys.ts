import type { Insertable, Selectable } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { Schema } from '../../db/schema.ts';
import type { ReplacedKind } from '../../db/tables/envelopes.ts';
import type { RowName } from '../../encryption/row-cipher.ts';
import { AppError } from '../../errors/app-error.ts';

export type ReplacedRow = Selectable<Schema['replaced_keys']>;

export const replacedColumns = [
  'id',
  'user_id',
  'tenant_id',
  'kind',
  'version',
  'key_generation',
  'wrapped_key',
  'public_key',
  'signing_key',
  'wrapped_signing_key',
  'salt',
  'verifier',
  'replaced_at',
] as const;

/** Milliseconds for which a replaced key is kept. */
const keptMs = 30 * 86_400_000;

/**
 * The maximum number of replaced keys of a user, for each kind. Beyond it a replacement is refused:
 * if the oldest made room instead, a thief could push out the keys that the user needs.
 */
export const maxReplacedKeys = 20;

/** A key at the moment of its replacement. */
type Replaced = Omit<Insertable<Schema['replaced_keys']>, 'user_id' | 'tenant_id'> & {
  readonly kind: ReplacedKind;
  readonly replaced_at: Date;
};

/** Names the row of a replaced master envelope for the cipher. */
export function replacedRow({ id, user_id: userId }: Pick<ReplacedRow, 'id' | 'user_id'>): RowName {
  return { table: 'replaced_keys', key: [id, userId] };
}

/**
 * Keeps a key that the transaction replaces, for 30 days. The caller must have locked the row of
 * the present key, so that concurrent replacements are counted. Throws quota_exceeded.
 */
export async function keepReplaced(
  tx: Tx,
  { userId, tenantId }: Owner,
  replaced: Replaced,
): Promise<void> {
  const now = replaced.replaced_at;
  const { count, oldest } = await selectKept(tx, { userId, tenantId }, now)
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.min<Date | null>('replaced_at').as('oldest'),
    ])
    .where('kind', '=', replaced.kind)
    .executeTakeFirstOrThrow();
  if (count >= maxReplacedKeys) throw tooMany(oldest ?? now, now);
  await tx
    .insertInto('replaced_keys')
    .values({ user_id: userId, tenant_id: tenantId, ...replaced })
    .execute();
}

function tooMany(oldest: Date, now: Date): AppError {
  return new AppError('quota_exceeded', {
    retryAfterSeconds: Math.ceil((expiryOf(oldest).getTime() - now.getTime()) / 1000),
    details: [
      {
        path: 'replacedKeys',
        message:
          `${maxReplacedKeys} replaced keys of this kind are kept for 30 days; ` +
          'wait or restore one',
      },
    ],
  });
}

/** Selects the replaced keys of a user that can still be restored. */
export function selectKept(tx: Tx, { userId, tenantId }: Owner, now: Date) {
  return tx
    .selectFrom('replaced_keys')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('replaced_at', '>', lastExpired(now));
}

/** Returns when a key that was replaced at this time can no longer be restored. */
export function expiryOf(replacedAt: Date): Date {
  return new Date(replacedAt.getTime() + keptMs);
}

/**
 * Removes a replaced key of a user in order to restore it. Throws not_found if another request was
 * faster.
 */
export async function takeReplaced(tx: Tx, { userId, tenantId }: Owner, id: string): Promise<void> {
  takesLock(tx, 'replaced key');
  const { numDeletedRows } = await tx
    .deleteFrom('replaced_keys')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw new AppError('not_found');
}

/**
 * Removes all replaced keys of these kinds of a user: what a new password or a new master key made
 * useless must not be restored, nor opened by somebody who knows the former one.
 */
export async function forgetReplaced(
  tx: Tx,
  { userId, tenantId }: Owner,
  kinds: readonly ReplacedKind[],
): Promise<void> {
  takesLock(tx, 'replaced key');
  await tx
    .deleteFrom('replaced_keys')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('kind', 'in', kinds)
    .execute();
}

/** Removes at most `limit` replaced keys after their 30 days. Resolves with their number. */
export async function removeOldReplaced(tx: Tx, now: Date, limit: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('replaced_keys')
    .where(({ eb, selectFrom }) =>
      eb(
        'id',
        'in',
        selectFrom('replaced_keys')
          .select('id')
          .where('replaced_at', '<=', lastExpired(now))
          .orderBy('replaced_at')
          .limit(limit)
          .forUpdate()
          .skipLocked(),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Counts the replaced keys that `removeOldReplaced` would remove without a limit. */
export async function countOldReplaced(tx: Tx, now: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('replaced_keys')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('replaced_at', '<=', lastExpired(now))
    .executeTakeFirstOrThrow();
  return count;
}

function lastExpired(now: Date): Date {
  return new Date(now.getTime() - keptMs);
}
