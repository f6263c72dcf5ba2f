import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';

/** Months after the present one for which `make_audit_partitions` makes partitions. */
const monthsMade = 12;

/**
 * Makes the partitions of the log and its seals that this month and the year after it lack.
 * Resolves with their number. The function of the database does this with the rights of the owner.
 */
export async function makePartitions(tx: Tx): Promise<number> {
  const { rows } = await sql<{ readonly made: number }>`
    select make_audit_partitions() as made`.execute(tx);
  return rows[0]?.made ?? 0;
}

/** Counts the partitions that `makePartitions` would make. */
export async function countMissingPartitions(tx: Tx): Promise<number> {
  const { rows } = await sql<{ readonly missing: number }>`
    select count(*)::int as missing
    from generate_series(0, ${monthsMade}) as month,
      unnest(array['audit_log', 'audit_seals']) as parent
    where not ${isAttached}`.execute(tx);
  return rows[0]?.missing ?? 0;
}

/**
 * Returns for how many months after the present one the log has partitions without a gap; -1 if the
 * present month has none either, so that nothing can be recorded.
 */
export async function readMonthsAhead(tx: Tx): Promise<number> {
  const { rows } = await sql<{ readonly months: number }>`
    select coalesce(min(month), ${monthsMade + 1})::int - 1 as months
    from generate_series(0, ${monthsMade}) as month,
      unnest(array['audit_log', 'audit_seals']) as parent
    where not ${isAttached}`.execute(tx);
  return rows[0]?.months ?? -1;
}

/** The condition that the partition of `parent` exists `month` months after the present one. */
const isAttached = sql<boolean>`exists (
  select from pg_inherits i join pg_class c on c.oid = i.inhrelid
  where i.inhparent = to_regclass('public.' || parent) and c.relname = parent || to_char(
    date_trunc('month', now() at time zone 'UTC') + make_interval(months => month), '_YYYY_MM'))`;
