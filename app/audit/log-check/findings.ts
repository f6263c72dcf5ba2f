import { sql } from 'kysely';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { Finding } from './entry-check.ts';
import type { LogPlace } from './log-rows.ts';

const key = ['user_id', 'tenant_id', 'resource_type', 'resource_id', 'seq'] as const;

/** Number of findings that one statement inserts. */
const insertSize = 1_000;

const columns = [
  'user_id as ownerId',
  'tenant_id as tenantId',
  'resource_type as resourceType',
  'resource_id as resourceId',
  'seq',
  'defect',
] as const;

/** Reads the first findings in the order of their places, or those after `after`. */
export async function readFindings(tx: Tx, limit: number, after?: LogPlace): Promise<Finding[]> {
  let found = tx
    .selectFrom('log_findings')
    .select(columns)
    .orderBy('user_id')
    .orderBy('tenant_id')
    .orderBy('resource_type')
    .orderBy('resource_id')
    .orderBy('seq')
    .limit(limit);
  if (after !== undefined) {
    const { ownerId, tenantId, resourceType, resourceId, seq } = after;
    found = found.where(
      sql<boolean>`(user_id, tenant_id, resource_type, resource_id, seq)
        > (${ownerId}::uuid, ${tenantId}, ${resourceType}, ${resourceId}, ${seq}::bigint)`,
    );
  }
  return (await found.execute()) as Finding[];
}

/**
 * Records findings, each place once. Resolves with those that were not known, or that were other
 * defects.
 */
export async function addFindings(tx: Tx, findings: readonly Finding[]): Promise<Finding[]> {
  takesLock(tx, 'log check');
  const added: Finding[] = [];
  for (let at = 0; at < findings.length; at += insertSize) {
    const rows = findings.slice(at, at + insertSize).map((finding) => ({
      user_id: finding.ownerId,
      tenant_id: finding.tenantId,
      resource_type: finding.resourceType,
      resource_id: finding.resourceId,
      seq: finding.seq,
      defect: finding.defect,
    }));
    const inserted = await tx
      .insertInto('log_findings')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns([...key])
          .doUpdateSet({ defect: ({ ref }) => ref('excluded.defect') })
          .whereRef('log_findings.defect', '<>', 'excluded.defect'),
      )
      .returning(columns)
      .execute();
    added.push(...(inserted as Finding[]));
  }
  return added;
}

/** Forgets findings, since the log is whole at their places. */
export async function removeFindings(tx: Tx, places: readonly LogPlace[]): Promise<void> {
  takesLock(tx, 'log check');
  for (const { ownerId, tenantId, resourceType, resourceId, seq } of places) {
    await tx
      .deleteFrom('log_findings')
      .where('user_id', '=', ownerId)
      .where('tenant_id', '=', tenantId)
      .where('resource_type', '=', resourceType)
      .where('resource_id', '=', resourceId)
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
    .selectFrom('log_findings')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.min<Date | null>('found_at').as('since'),
    ])
    .where(isInReach(reach))
    .executeTakeFirstOrThrow();
  return { count, since: since ?? undefined };
}
