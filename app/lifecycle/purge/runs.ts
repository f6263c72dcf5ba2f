import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Tx } from '../../db/database.ts';
import type { PurgeCounts } from './batch.ts';

/** The record of one run of the purge. */
export interface PurgeRecord extends PurgeCounts {
  readonly id: string;
  /** The name of the internal API key that started the run. */
  readonly requestedBy: string;
  readonly dryRun: boolean;
  readonly startedAt: Date;
  /** Null while the run lasts, or if it was interrupted. */
  readonly completedAt: Date | null;
}

const columns = [
  'id',
  'requested_by as requestedBy',
  'dry_run as dryRun',
  'purged_accounts as purgedAccounts',
  'removed_audit_traces as removedAuditTraces',
  'removed_emails as removedEmails',
  'started_at as startedAt',
  'completed_at as completedAt',
] as const;

/** Records the beginning of a run. Resolves with its id. */
export async function beginRun(
  tx: Tx,
  {
    requestedBy,
    dryRun,
    now,
  }: { readonly requestedBy: string; readonly dryRun: boolean; readonly now: Date },
): Promise<string> {
  const id = uuidv7();
  await tx
    .insertInto('purge_runs')
    .values({ id, requested_by: requestedBy, dry_run: dryRun, started_at: now })
    .execute();
  return id;
}

export async function addToRun(tx: Tx, id: string, counts: PurgeCounts): Promise<void> {
  await tx
    .updateTable('purge_runs')
    .set({
      purged_accounts: sql`purged_accounts + ${counts.purgedAccounts}`,
      removed_audit_traces: sql`removed_audit_traces + ${counts.removedAuditTraces}`,
      removed_emails: sql`removed_emails + ${counts.removedEmails}`,
    })
    .where('id', '=', id)
    .execute();
}

export async function completeRun(
  tx: Tx,
  id: string,
  now: Date,
): Promise<PurgeRecord & { readonly completedAt: Date }> {
  const run = await tx
    .updateTable('purge_runs')
    .set({ completed_at: now })
    .where('id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow();
  return { ...run, completedAt: now };
}

export function findLastRun(tx: Tx): Promise<PurgeRecord | undefined> {
  // The last run has the greatest id, since the ids sort by time.
  return tx.selectFrom('purge_runs').select(columns).orderBy('id', 'desc').executeTakeFirst();
}
