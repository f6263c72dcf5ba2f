import { sql, type Insertable } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Owner, Tx } from '../../db/database.ts';
import { compileOnce } from '../../db/compile-once.ts';
import { commitWith } from '../../db/transaction.ts';
import type { Schema } from '../../db/schema.ts';
import type { ConflictType } from '../../db/tables/sync.ts';
import type { RequestEvent } from '../../audit-trail/event.ts';
import type { Undo } from '../merge/undo.ts';

/** The device that sends a write, and the id that its client gave the request. */
export interface WritingDevice {
  readonly deviceId: string;
  /** The client's X-Sync-Request-Id. */
  readonly syncRequestId: string | undefined;
}

/**
 * The number of newest versions of an object that its history keeps for good. Earlier ones are kept
 * for 8 days, since a kept response refers to them for 7.
 */
export const keptVersions = 100;
export const undoDays = 8;
const conflictDays = 30;

/** A write as it is recorded, whether it was applied or refused. */
export interface WriteRecord {
  readonly action: 'sync.created' | 'sync.changed' | 'sync.deleted' | 'sync.conflicted';
  readonly objectId: string;
  readonly version: number;
  readonly baseVersion: number | null;
  readonly conflictType: ConflictType | null;
  readonly ruleApplied: string | null;
  readonly changedAt: Date;
  /** JSON Pointers of the changed places; null for a deletion. */
  readonly changed: readonly string[] | null;
  /** Turns the version back into the previous one; undefined if nothing changed. */
  readonly undo: Undo | undefined;
  /**
   * The time of the record. For an existing object, `timeAfter` returns it while the object is
   * locked, so that later versions have later times.
   */
  readonly recordedAt: Date;
}

const historyColumns = [
  'id',
  'user_id',
  'tenant_id',
  'object_id',
  'version',
  'base_version',
  'status',
  'conflict_type',
  'rule_applied',
  'sync_request_id',
  'device_id',
  'changed_at',
  'changed_fields',
  'recorded_at',
  'undo',
  'expires_at',
] as const;

export type HistoryRow = Required<
  Pick<Insertable<Schema['sync_history']>, (typeof historyColumns)[number]>
>;

/** Returns the columns of a row of the history, without other members. */
export function historyOf(row: HistoryRow): HistoryRow {
  return Object.fromEntries(historyColumns.map((name) => [name, row[name]])) as HistoryRow;
}

export function toHistoryRow(
  { userId, tenantId }: Owner,
  { deviceId, syncRequestId }: WritingDevice,
  record: WriteRecord,
): HistoryRow {
  const { changed, conflictType, recordedAt, undo } = record;
  // The history is read in the order of these ids. Without arguments, uuidv7() returns an id above
  // all earlier ids of this process; a time ahead of this process's clock must be put into the id.
  const isAhead = recordedAt.getTime() > Date.now();
  return {
    id: isAhead ? uuidv7({ msecs: recordedAt.getTime() }) : uuidv7(),
    user_id: userId,
    tenant_id: tenantId,
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
    undo: undo === undefined ? null : JSON.stringify(undo),
    expires_at:
      conflictType === null ? null : new Date(recordedAt.getTime() + conflictDays * 86_400_000),
  };
}

/**
 * Stores the history of a write that changes no object. For any other write, the statement that
 * changes the object also stores the history.
 */
export async function insertHistory(tx: Tx, row: HistoryRow): Promise<void> {
  await tx.insertInto('sync_history').values(row).execute();
}

/** Returns the audit event of a write. */
export function eventOf(
  { deviceId }: WritingDevice,
  { action, objectId, version, baseVersion, conflictType, ruleApplied }: WriteRecord,
): RequestEvent {
  return {
    action,
    ...(conflictType === null ? {} : { outcome: 'failure' as const }),
    resource: { type: 'sync_object', id: objectId },
    data: { version, baseVersion, deviceId, conflictType, ruleApplied },
  };
}

/**
 * Returns a time after everything in the history of a locked object: `now`, or a later time if
 * another process, whose clock is ahead, has written to the object.
 */
export async function timeAfter(
  tx: Tx,
  { userId, tenantId }: Owner,
  { objectId, lastModifiedAt }: { readonly objectId: string; readonly lastModifiedAt: Date },
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
 * Has maintenance remove what the history of a locked object need not keep after its version
 * `version`: the version that leaves the newest ones, or all earlier versions of a tombstone. This
 * is stored together with the commit.
 */
export function expireHistory(
  tx: Tx,
  { userId, tenantId }: Owner,
  { objectId, version, isDeleted }: Expiring,
): void {
  if (!isDeleted && version <= keptVersions) return;
  const [first, last] = isDeleted
    ? [0, version - 1]
    : [version - keptVersions, version - keptVersions];
  commitWith(tx, expireVersions(tx, { userId, tenantId, objectId, first, last }));
}

interface Expiring {
  readonly objectId: string;
  readonly version: number;
  readonly isDeleted: boolean;
}

interface Expired extends Owner {
  readonly objectId: string;
  readonly first: number;
  readonly last: number;
}

const expireVersions = compileOnce(({ userId, tenantId, objectId, first, last }: Expired, db) =>
  db
    .updateTable('sync_history')
    .set({ expires_at: sql<Date>`now() + make_interval(days => ${undoDays})` })
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('object_id', '=', objectId)
    .where('status', '=', 'APPLIED')
    .where('expires_at', 'is', null)
    .where('version', '>=', first)
    .where('version', '<=', last)
    .compile(),
);
