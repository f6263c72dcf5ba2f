import { sql } from 'kysely';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import type { FileFaults } from '../../audit/dlq/file-alerts.ts';
import type { Tx } from '../../db/database.ts';

interface Faults {
  readonly count: number;
  readonly since: Date | null;
}

/** Counts the faults of stored files in reach, as the last checks have found them. */
export async function countFaults(tx: Tx, reach: Reach): Promise<FileFaults> {
  const { rows } = await sql<Faults & { readonly kind: keyof FileFaults }>`
    select 'damaged' as kind, count(*) as count, min(damaged_at) as since
    from object_checks where damage is not null and ${isInReach(reach)}
    union all
    select 'unreadable', count(*), min(unreadable_since)
    from object_checks
    where unreadable_since < now() - interval '1 day' and ${isInReach(reach)}`.execute(tx);
  const faultsOf = (wanted: keyof FileFaults) => {
    const { count = 0, since } = rows.find(({ kind }) => kind === wanted) ?? {};
    return { count, since: since ?? undefined };
  };
  return { damaged: faultsOf('damaged'), unreadable: faultsOf('unreadable') };
}
