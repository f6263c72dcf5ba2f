import { countTraces, eraseTraces } from '../../audit/entries/erasure.ts';
import { forgetAddressesOf } from '../../auth/login/known-client-addresses.ts';
import type { Tx } from '../../db/database.ts';
import { countWaitingMails, removeWaitingMails } from '../../outbox/waiting.ts';
import { batchSize, findRemovable, selectExpired, type Place } from './expired-accounts.ts';

/** The counts of a batch that removed nothing. */
export const noneRemoved = {
  purgedAccounts: 0,
  /** The number of entries whose text was erased. */
  removedAuditTraces: 0,
  /** The number of e-mails that had not been sent. */
  removedEmails: 0,
};

export type PurgeCounts = Readonly<typeof noneRemoved>;

interface PurgedBatch {
  readonly counts: PurgeCounts;
  /**
   * The last account of this batch, after which the next batch begins; undefined after the last
   * batch.
   */
  readonly next: Place | undefined;
}

/**
 * Removes the next expired accounts after the position `after`, with everything that is stored
 * about these accounts. Skips accounts that another transaction has locked to validate, register or
 * purge them.
 */
export async function purgeBatch(tx: Tx, after: Place, now: Date): Promise<PurgedBatch> {
  const locked = await selectExpired(tx, after, now).forUpdate().skipLocked().execute();
  const ids = await findRemovable(tx, idsOf(locked), now);
  return {
    counts: ids.length === 0 ? noneRemoved : await remove(tx, ids, now),
    next: nextOf(locked),
  };
}

/** Counts what `purgeBatch` would remove. */
export async function previewBatch(tx: Tx, after: Place, now: Date): Promise<PurgedBatch> {
  const expired = await selectExpired(tx, after, now).execute();
  const ids = await findRemovable(tx, idsOf(expired), now);
  return { counts: ids.length === 0 ? noneRemoved : await preview(tx, ids), next: nextOf(expired) };
}

function nextOf(accounts: readonly Place[]): Place | undefined {
  return accounts.length < batchSize ? undefined : accounts.at(-1);
}

function idsOf(accounts: readonly Place[]): string[] {
  return accounts.map(({ id }) => id);
}

async function remove(tx: Tx, ids: readonly string[], now: Date): Promise<PurgeCounts> {
  const removedAuditTraces = await eraseTraces(tx, ids, now);
  const removedEmails = await removeWaitingMails(tx, ids);
  await forgetAddressesOf(tx, ids);
  // A cascading foreign key also removes the registrations of the accounts.
  await tx.deleteFrom('accounts').where('id', 'in', ids).execute();
  return {
    purgedAccounts: ids.length,
    removedAuditTraces,
    removedEmails,
  };
}

async function preview(tx: Tx, ids: readonly string[]): Promise<PurgeCounts> {
  return {
    purgedAccounts: ids.length,
    removedAuditTraces: await countTraces(tx, ids),
    removedEmails: await countWaitingMails(tx, ids),
  };
}
