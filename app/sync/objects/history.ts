import { sql, type Insertable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { byOwner } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import type { Owner, Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import type { DeviceCaller } from '../../devices/guard.ts';
import type { ConflictType } from '../../db/tables/sync.ts';
import type { Change } from '../merge/rules.ts';

/** Who writes, on which device, by which request. */
export interface Author extends DeviceCaller {
  /** The server's own id of the request. */
  readonly serverId: string;
  /** The client's X-Sync-Request-Id. */
  readonly syncRequestId: string | undefined;
}

/** What a write came to. */
export interface WriteRecord {
  readonly action: 'sync.created' | 'sync.changed' | 'sync.deleted' | 'sync.conflicted';
  readonly objectId: string;
  readonly version: number;
  readonly baseVersion: number | null;
  readonly conflictType: ConflictType | null;
  readonly ruleApplied: string | null;
  readonly changedAt: Date;
  /** JSON Pointers; null for a deletion. */
  readonly changed: readonly string[] | null;
  /** By timeAfter, while the object is locked: so versions follow each other in time too. */
  readonly recordedAt: Date;
}

export type HistoryRow = Insertable<Schema['sync_history']>;

export function toHistoryRow(author: Author, record: WriteRecord): HistoryRow {
  const { caller, deviceId, syncRequestId } = author;
  const { changed, conflictType, recordedAt } = record;
  // By these ids the history is read. One of the present moment follows those that this process made.
  const isAhead = recordedAt.getTime() > Date.now();
  return {
    id: isAhead ? uuidv7({ msecs: recordedAt.getTime() }) : uuidv7(),
    user_id: caller.userId,
    tenant_id: caller.tenantId,
    object_id: record.objectId,
    version: record.version,
    base_version: record.baseVersion,
    status: conflictType === null ? 'APPLIED' : 'CONFLICT',
    conflict_type: conflictType,
    rule_applied: record.ruleApplied,
    sync_request_id: syncRequestId ?? null,
    device_id: deviceId,
    changed_at: record.changedAt,
    changed_fields: changed === null ? null : JSON.stringify(changed),
    recorded_at: recordedAt,
  };
}

/** Of a write that changes no object; of any other it is kept by the statement that changes it. */
export async function insertHistory(tx: Tx, row: HistoryRow): Promise<void> {
  await tx.insertInto('sync_history').values(row).execute();
}

/** The last statement of a write: it locks the sequence of the object's entries. */
export async function appendEntry(
  tx: Tx,
  audit: AuditTrail,
  { caller, deviceId, serverId }: Author,
  { action, objectId, version, baseVersion, conflictType, ruleApplied }: WriteRecord,
): Promise<void> {
  await audit.append(tx, {
    action,
    ...byOwner(caller, serverId),
    ...(conflictType === null ? {} : { outcome: 'failure' as const }),
    resource: { type: 'sync_object', id: objectId },
    data: { version, baseVersion, deviceId, conflictType, ruleApplied },
  });
}

/** Now, or later than what a locked object has in its history, where another process's clock is ahead. */
export async function timeAfter(
  tx: Tx,
  { userId, tenantId }: Owner,
  { objectId, lastModifiedAt }: { objectId: string; lastModifiedAt: Date },
  now: Date,
): Promise<Date> {
  if (now > lastModifiedAt) return now;
  const newest = await tx
    .selectFrom('sync_history')
    .select(sql<Date>`greatest(recorded_at, uuid_extract_timestamp(id))`.as('at'))
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('object_id', '=', objectId)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow();
  return new Date(Math.max(newest.at.getTime(), lastModifiedAt.getTime()) + 1);
}

/**
 * The last change of each of these places since a version of a locked object, by JSON Pointer. All that
 * were changed may be ten thousand a version.
 */
export async function findTouched(
  tx: Tx,
  { userId, tenantId }: Owner,
  objectId: string,
  { baseVersion, places }: { readonly baseVersion: number; readonly places: readonly string[] },
): Promise<Map<string, Change>> {
  if (places.length === 0) return new Map();
  const { rows } = await sql<{ field: string; changed_at: Date; device_id: string }>`
    select distinct on (field) field, changed_at, device_id
    from sync_history, jsonb_array_elements_text(changed_fields::jsonb) as field
    where user_id = ${userId} and tenant_id = ${tenantId} and object_id = ${objectId}
      and status = 'APPLIED' and version > ${baseVersion}
      and field in (select unnest(${places}::text[]))
    order by field, version desc`.execute(tx);
  return new Map(
    rows.map(({ field, changed_at, device_id }) => [
      field,
      { changedAt: changed_at, deviceId: device_id },
    ]),
  );
}
