import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { fileColumns, type StoredFile } from '../records/stored-files.ts';

const hoursPerDay = 24;
/** The share of a cycle after which a check is due, so that all have ended when the cycle has. */
const dueShare = 0.9;
/** Hours after which damage is looked at again, in case the file was restored. */
const damagePauseHours = 24;

interface DueOptions {
  /** Days within which every file is to be checked once. */
  readonly days: number;
}

/**
 * Returns the next files to check: damaged ones a day after their last check, then those that were
 * never checked, then the longest unchecked.
 */
export async function findDue(
  tx: Tx,
  { limit, ...options }: DueOptions & { readonly limit: number },
): Promise<StoredFile[]> {
  const damaged = await selectDamaged(tx)
    .select(fileColumns)
    .orderBy('damaged_at')
    .limit(limit)
    .execute();
  if (damaged.length > 0) return damaged;
  return selectDue(tx, options).select(fileColumns).orderBy(lastCheckedAt).limit(limit).execute();
}

/** Counts the files whose check is due. */
export async function countDue(tx: Tx, options: DueOptions): Promise<number> {
  const damaged = await countAll(selectDamaged(tx));
  return damaged + (await countAll(selectDue(tx, options).where('damage', 'is', null)));
}

/** Selects the files whose check is due. */
function selectDue(tx: Tx, { days }: DueOptions) {
  return selectAvailable(tx).where(lastCheckedAt, '<', hoursAgo(days * hoursPerDay * dueShare));
}

/** Selects the damaged files that are due to be looked at again. */
function selectDamaged(tx: Tx) {
  return selectAvailable(tx)
    .where('damage', 'is not', null)
    .where('checked_at', '<', hoursAgo(damagePauseHours));
}

function selectAvailable(tx: Tx) {
  return tx
    .selectFrom('object_checks')
    .innerJoin('document_versions', (join) =>
      join
        .onRef('document_versions.document_id', '=', 'object_checks.document_id')
        .onRef('document_versions.version', '=', 'object_checks.version'),
    )
    .where('object_checks.available_at', '<=', sql<Date>`now()`);
}

/** The time of the last check, as its index has it; before all times if there was none. */
const lastCheckedAt = sql<Date>`coalesce(checked_at, '-infinity')`;

function hoursAgo(hours: number) {
  return sql<Date>`now() - make_interval(secs => ${hours * 3_600})`;
}

async function countAll(query: ReturnType<typeof selectAvailable>): Promise<number> {
  const { count } = await query
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}
