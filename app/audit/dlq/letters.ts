import { sql } from 'kysely';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { AppError } from '../../errors/app-error.ts';
import type { DeadLetterStatus } from '../../db/tables/audit/queue.ts';
import type { ClaimedEntry, SealFault } from '../sealing/entry-signing.ts';
import { resourceOf } from '../entries/readers.ts';
import { comparedColumns } from '../sealing/row-comparison.ts';
import { createSealStorage } from '../sealing/stored-seals.ts';
import { leaseSeconds, sendableText } from '../sealing/turns.ts';

/** A dead letter: an entry that is or was in the dead-letter queue. */
export interface DeadLetter {
  readonly status: DeadLetterStatus;
  /** Number of failed attempts to seal the entry. */
  readonly attempts: number;
  /** The reason for the last failure. */
  readonly reason: string;
  readonly owner: Owner;
  readonly resource: { readonly type: string; readonly id: string };
  readonly seq: number;
  readonly isLeased: boolean;
}

const isLeased = sql<boolean>`claim_id is not null and claimed_until > now()`;

/** Selects dead letters, in the queue or not, whose entries belong to owners in reach. */
export function selectLetters(tx: Tx, reach: Reach) {
  const letters = tx.selectFrom('audit_dead_letters');
  if (reach === 'all tenants') return letters;
  return letters.where(({ exists, selectFrom }) =>
    exists(
      selectFrom('audit_log')
        .select('id')
        .whereRef('id', '=', 'audit_dead_letters.entry_id')
        .where(isInReach(reach)),
    ),
  );
}

/**
 * Locks the dead letter of an entry until the transaction ends, and returns it. Every change of a
 * dead letter must lock it first. Throws not_found for an entry that was never in the queue or is
 * out of reach.
 */
export async function lockLetter(tx: Tx, entryId: string, reach: Reach): Promise<DeadLetter> {
  takesLock(tx, 'dead letter');
  const letter = await tx
    .selectFrom('audit_dead_letters')
    .select(['status', 'attempts', 'reason'])
    .select(sql<boolean>`coalesce(${isLeased}, false)`.as('isLeased'))
    .where('entry_id', '=', entryId)
    .forUpdate()
    .executeTakeFirst();
  if (letter === undefined) throw new AppError('not_found');
  const entry = await tx
    .selectFrom('audit_entries')
    .select(['user_id', 'tenant_id', 'resource_type', 'resource_id', 'seq'])
    .where('id', '=', entryId)
    .where(isInReach(reach))
    .executeTakeFirst();
  if (entry === undefined) throw new AppError('not_found');
  return {
    ...letter,
    seq: entry.seq,
    owner: { userId: entry.user_id, tenantId: entry.tenant_id },
    resource: resourceOf(entry),
  };
}

/**
 * Throws entry_not_dead if the letter has left the queue, and retry_in_progress while another retry
 * has leased it.
 */
export function assertWaiting(letter: DeadLetter): void {
  if (letter.status !== 'PENDING') throw new AppError('entry_not_dead');
  if (letter.isLeased) throw new AppError('retry_in_progress', { retryAfterSeconds: leaseSeconds });
}

/** Says which letters to lease: at most `limit` letters in reach, from `among` if it is given. */
export interface LetterChoice {
  readonly reach: Reach;
  readonly limit: number;
  readonly among?: readonly string[];
}

/**
 * Leases up to `limit` letters in the queue, only from the entry ids `among` if these are given.
 * Letters with the fewest attempts are leased first, then the oldest; letters that are leased
 * already are skipped.
 */
export async function claimLetters(
  tx: Tx,
  claimId: string,
  { reach, limit, among }: LetterChoice,
): Promise<ClaimedEntry[]> {
  const isAmong = among === undefined ? sql`true` : sql`l.entry_id = any(${among}::uuid[])`;
  const { rows } = await sql<{ readonly id: string }>`
    select l.entry_id as id from audit_dead_letters l join audit_log e on e.id = l.entry_id
    where l.status = 'PENDING' and (${isLeased}) is not true and ${isAmong}
      and ${isInReach(reach, 'e.tenant_id')}
    order by l.attempts, l.created_at, l.entry_id limit ${limit}
    for update of l skip locked`.execute(tx);
  const ids = rows.map(({ id }) => id);
  return ids.length === 0 ? [] : lease(tx, claimId, ids);
}

/** Leases letters that the transaction has locked. */
export async function lease(
  tx: Tx,
  claimId: string,
  entryIds: readonly string[],
): Promise<ClaimedEntry[]> {
  return tx
    .updateTable('audit_dead_letters')
    .from('audit_log')
    .leftJoin('audit_trails', 'audit_trails.id', 'audit_log.trail_id')
    .set({
      claim_id: claimId,
      claimed_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
    })
    .where('entry_id', 'in', entryIds)
    .whereRef('audit_log.id', '=', 'audit_dead_letters.entry_id')
    .returning([...comparedColumns, sendableText.as('text')])
    .execute();
}

/**
 * Removes entries that the transaction has just sealed from the queue, by marking their letters as
 * recovered.
 */
export async function recoverLetters(tx: Tx, entryIds: readonly string[], now: Date) {
  if (entryIds.length === 0) return [];
  return tx
    .updateTable('audit_dead_letters')
    .set({ status: 'RECOVERED', ended_at: now })
    .where('entry_id', 'in', entryIds)
    .returning(['entry_id as id', 'attempts'])
    .execute();
}

/**
 * Counts a failed attempt and releases the lease; the letter stays in the queue. Returns the total
 * number of attempts, or undefined if the lease was lost before.
 */
export async function keepLetter(
  tx: Tx,
  claimId: string,
  { id, reason }: SealFault,
): Promise<number | undefined> {
  const letter = await tx
    .updateTable('audit_dead_letters')
    .set({ attempts: sql`attempts + 1`, reason, claim_id: null, claimed_until: null })
    .where('entry_id', '=', id)
    .where('claim_id', '=', claimId)
    .returning('attempts')
    .executeTakeFirst();
  return letter?.attempts;
}

/** Stores the seals of leased letters, as `createSealStorage` says. */
export const storeSeals = createSealStorage(
  ({ claimId, ids }, mayEnd) => sql`
    update audit_dead_letters set claim_id = null, claimed_until = null
    where entry_id = any(${ids}::uuid[]) and claim_id = ${claimId}::uuid and status = 'PENDING'
      and ${mayEnd}
    returning entry_id`,
);

/** Releases the leases of letters, without counting a failed attempt. */
export async function releaseLetters(
  tx: Tx,
  claimId: string,
  entryIds: readonly string[],
): Promise<void> {
  await tx
    .updateTable('audit_dead_letters')
    .set({ claim_id: null, claimed_until: null })
    .where('entry_id', 'in', entryIds)
    .where('claim_id', '=', claimId)
    .execute();
}

/** Lists the ids of the entries in the queue, those with the fewest attempts first. */
export async function listWaiting(tx: Tx): Promise<string[]> {
  const letters = await tx
    .selectFrom('audit_dead_letters')
    .select('entry_id')
    .where('status', '=', sql.lit('PENDING'))
    .orderBy('attempts')
    .orderBy('created_at')
    .orderBy('entry_id')
    .execute();
  return letters.map(({ entry_id: entryId }) => entryId);
}

/** Counts the letters in the queue that are in reach. */
export async function countWaiting(tx: Tx, reach: Reach): Promise<number> {
  const { count } = await selectLetters(tx, reach)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('status', '=', sql.lit('PENDING'))
    .executeTakeFirstOrThrow();
  return count;
}
