import { sql } from 'kysely';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { Finding } from './entry-check.ts';
import type { LogPlace } from './log-rows.ts';

/** Number of findings that one statement inserts. */
const insertSize = 1_000;

/** A finding, and whose entry is concerned, which is null if the trail is missing. */
export interface NamedFinding extends Finding {
  readonly userId: string | null;
  readonly tenantId: string | null;
  readonly resourceType: string | null;
  readonly resourceId: string | null;
}

const named = [
  'found.trail_id as trailId',
  'found.seq',
  'found.defect',
  'trail.user_id as userId',
  'trail.tenant_id as tenantId',
  'trail.resource_type as resourceType',
  'trail.resource_id as resourceId',
] as const;

/** Reads the first findings in the order of their places, or those after `after`. */
export async function readFindings(
  tx: Tx,
  limit: number,
  after?: LogPlace,
): Promise<NamedFinding[]> {
  let found = tx
    .selectFrom('log_findings as found')
    .leftJoin('audit_trails as trail', 'trail.id', 'found.trail_id')
    .select(named)
    .orderBy('found.trail_id')
    .orderBy('found.seq')
    .limit(limit);
  if (after !== undefined) {
    const { trailId, seq } = after;
    found = found.where(
      sql<boolean>`(found.trail_id, found.seq) > (${trailId}::bigint, ${seq}::bigint)`,
    );
  }
  return (await found.execute()) as NamedFinding[];
}

/**
 * Records findings, each place once. Resolves with those that were not known, or that were other
 * defects.
 */
export async function addFindings(tx: Tx, findings: readonly Finding[]): Promise<NamedFinding[]> {
  takesLock(tx, 'log check');
  const added: NamedFinding[] = [];
  for (let at = 0; at < findings.length; at += insertSize) {
    const rows = findings
      .slice(at, at + insertSize)
      .map(({ trailId, seq, defect }) => ({ trail_id: trailId, seq, defect }));
    const inserted = await tx
      .with('found', (cte) =>
        cte
          .insertInto('log_findings')
          .values(rows)
          .onConflict((conflict) =>
            conflict
              .columns(['trail_id', 'seq'])
              .doUpdateSet({ defect: ({ ref }) => ref('excluded.defect') })
              .whereRef('log_findings.defect', '<>', 'excluded.defect'),
          )
          .returning(['trail_id', 'seq', 'defect']),
      )
      .selectFrom('found')
      .leftJoin('audit_trails as trail', 'trail.id', 'found.trail_id')
      .select(named)
      .execute();
    added.push(...(inserted as NamedFinding[]));
  }
  return added;
}

/** Forgets findings, since the log is whole at their places. */
export async function removeFindings(tx: Tx, places: readonly LogPlace[]): Promise<void> {
  takesLock(tx, 'log check');
  for (const { trailId, seq } of places) {
    await tx
      .deleteFrom('log_findings')
      .where('trail_id', '=', trailId)
      .where('seq', '=', seq)
      .execute();
  }
}

/** Counts the findings in reach. `since` is when the first was found; undefined without any. */
export async function countFindings(
  tx: Tx,
  reach: Reach,
): Promise<{ readonly count: number; readonly since: Date | undefined }> {
  const { count, since } = await tx
    .selectFrom('log_findings as found')
    .leftJoin('audit_trails as trail', 'trail.id', 'found.trail_id')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.min<Date | null>('found.found_at').as('since'),
    ])
    .where(isInReach(reach, 'trail.tenant_id'))
    .executeTakeFirstOrThrow();
  return { count, since: since ?? undefined };
}
