import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { comparedColumns, type EntryRow } from '../sealing/row-comparison.ts';

/** A number of a resource, at which the log has an entry or should have one. */
export interface LogPlace {
  readonly ownerId: string;
  readonly tenantId: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly seq: number;
}

/** The row of an entry, and whether the log has the entry with the number before. */
export interface NumberedRow extends EntryRow {
  readonly hasPredecessor: boolean;
}

/** The last number of a resource, and whether the log has its entry. */
export interface Trail extends LogPlace {
  readonly hasLast: boolean;
}

const hasPredecessor = sql<boolean>`audit_log.seq = 1 or exists (
  select from audit_log as earlier
  where earlier.user_id = audit_log.user_id and earlier.tenant_id = audit_log.tenant_id
    and earlier.resource_type = audit_log.resource_type
    and earlier.resource_id = audit_log.resource_id
    and earlier.seq = audit_log.seq - 1)`;

function selectRows(tx: Tx) {
  return tx
    .selectFrom('audit_log')
    .select(comparedColumns)
    .select(hasPredecessor.as('hasPredecessor'));
}

/** Reads the entries of all users after `after`, in the order of their ids. */
export function readRows(tx: Tx, after: string | null, limit: number): Promise<NumberedRow[]> {
  const rows = selectRows(tx).orderBy('id').limit(limit);
  return (after === null ? rows : rows.where('id', '>', after)).execute();
}

/** Reads the newest entries of all users. */
export function readNewestRows(tx: Tx, limit: number): Promise<NumberedRow[]> {
  return selectRows(tx).orderBy('id', 'desc').limit(limit).execute();
}

/** The key of a trail: owner, tenant, and type and id of the resource. */
export type TrailKey = readonly [string, string, string, string];

/** Reads the trails of all resources after `after`, in the order of their keys. */
export function readTrails(tx: Tx, after: TrailKey | null, limit: number): Promise<Trail[]> {
  let trails = tx
    .selectFrom('audit_sequences as trail')
    .select([
      'user_id as ownerId',
      'tenant_id as tenantId',
      'resource_type as resourceType',
      'resource_id as resourceId',
      'last_seq as seq',
      sql<boolean>`exists (
        select from audit_log as entry
        where entry.user_id = trail.user_id and entry.tenant_id = trail.tenant_id
          and entry.resource_type = trail.resource_type
          and entry.resource_id = trail.resource_id and entry.seq = trail.last_seq)`.as('hasLast'),
    ])
    .orderBy('user_id')
    .orderBy('tenant_id')
    .orderBy('resource_type')
    .orderBy('resource_id')
    .limit(limit);
  if (after !== null) {
    const [ownerId, tenantId, resourceType, resourceId] = after;
    trails = trails.where(
      sql<boolean>`(user_id, tenant_id, resource_type, resource_id)
        > (${ownerId}::uuid, ${tenantId}, ${resourceType}, ${resourceId})`,
    );
  }
  return trails.execute();
}

/** A place, and the entry that the log has there. */
interface Found extends LogPlace {
  readonly row: NumberedRow | undefined;
  /** Whether a later number of the resource was given out, or this one. */
  readonly isExpected: boolean;
}

/** Reads what the log has at some places. */
export async function readPlaces(tx: Tx, places: readonly LogPlace[]): Promise<Found[]> {
  const found: Found[] = [];
  for (const place of places) found.push(await readPlace(tx, place));
  return found;
}

async function readPlace(tx: Tx, place: LogPlace): Promise<Found> {
  const { ownerId, tenantId, resourceType, resourceId, seq } = place;
  const row = await selectRows(tx)
    .where('user_id', '=', ownerId)
    .where('tenant_id', '=', tenantId)
    .where('resource_type', '=', resourceType)
    .where('resource_id', '=', resourceId)
    .where('seq', '=', seq)
    .executeTakeFirst();
  const { rows } = await sql<{ readonly isExpected: boolean }>`
    select exists (
      select from audit_sequences
      where user_id = ${ownerId} and tenant_id = ${tenantId} and resource_type = ${resourceType}
        and resource_id = ${resourceId} and last_seq >= ${seq}
    ) or exists (
      select from audit_log
      where user_id = ${ownerId} and tenant_id = ${tenantId} and resource_type = ${resourceType}
        and resource_id = ${resourceId} and seq = ${seq + 1}
    ) as "isExpected"`.execute(tx);
  return { ...place, row, isExpected: rows[0]?.isExpected ?? false };
}

/** Counts the rows of a walk. */
export async function countRows(tx: Tx, table: 'audit_log' | 'audit_sequences'): Promise<number> {
  const { count } = await tx
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}
