import { countTraces, eraseTraces } from '../../audit/entries/erasure.ts';
import type { Tx } from '../../db/database.ts';
import { batchSize, findRemovable, selectExpired, type Place } from './expired-accounts.ts';

export interface PurgeCounts {
  readonly purgedAccounts: number;
  /** Entries whose text was erased. */
  readonly removedAuditTraces: number;
  /** Unsent. */
  readonly removedEmails: number;
}

interface PurgedBatch {
  readonly counts: PurgeCounts;
  /** The last account looked at; undefined when no more can follow. */
  readonly next: Place | undefined;
}

const none: PurgeCounts = { purgedAccounts: 0, removedAuditTraces: 0, removedEmails: 0 };

/**
 * Removes the next expired accounts after a place and all that is kept of them. Accounts that
 * somebody else has locked are passed over: they are being validated, registered again or purged.
 */
export async function purgeBatch(tx: Tx, after: Place, now: Date): Promise<PurgedBatch> {
  const locked = await selectExpired(tx, after, now).forUpdate().skipLocked().execute();
  const ids = await findRemovable(tx, idsOf(locked), now);
  return { counts: ids.length === 0 ? none : await remove(tx, ids, now), next: nextOf(locked) };
}

/** Counts what `purgeBatch` would remove. */
export async function previewBatch(tx: Tx, after: Place, now: Date): Promise<PurgedBatch> {
  const expired = await selectExpired(tx, after, now).execute();
  const ids = await findRemovable(tx, idsOf(expired), now);
  return { counts: ids.length === 0 ? none : await preview(tx, ids), next: nextOf(expired) };
}

function nextOf(accounts: readonly Place[]): Place | undefined {
  return accounts.length < batchSize ? undefined : accounts.at(-1);
}

function idsOf(accounts: readonly Place[]): string[] {
  return accounts.map(({ id }) => id);
}

async function remove(tx: Tx, ids: readonly string[], now: Date): Promise<PurgeCounts> {
  const removedAuditTraces = await eraseTraces(tx, ids, now);
  const emails = await tx
    .deleteFrom('outbox')
    .where('user_id', 'in', ids)
    .where('kind', '=', 'email')
    .executeTakeFirst();
  await tx.deleteFrom('known_addresses').where('account_id', 'in', ids).execute();
  // Their registrations go with them.
  await tx.deleteFrom('accounts').where('id', 'in', ids).execute();
  return {
    purgedAccounts: ids.length,
    removedAuditTraces,
    removedEmails: Number(emails.numDeletedRows),
  };
}

async function preview(tx: Tx, ids: readonly string[]): Promise<PurgeCounts> {
  const { count } = await tx
    .selectFrom('outbox')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', 'in', ids)
    .where('kind', '=', 'email')
    .executeTakeFirstOrThrow();
  return {
    purgedAccounts: ids.length,
    removedAuditTraces: await countTraces(tx, ids),
    removedEmails: count,
  };
}
