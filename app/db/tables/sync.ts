import { defineEntity, p } from '@mikro-orm/core';
import { owner, timestamp } from '../columns/columns.ts';
import { ownedByService, ownedByUser, shownToAll } from '../columns/policies.ts';

/**
 * The current state of an object that a user's devices share. A deleted object stays as a
 * tombstone.
 */
export const SyncObject = defineEntity({
  name: 'SyncObject',
  tableName: 'sync_objects',
  rowLevelSecurity: 'force',
  policies: ownedByUser('sync_objects'),
  uniques: [{ name: 'sync_objects_change', properties: ['userId', 'tenantId', 'changeSeq'] }],
  checks: [{ name: 'sync_objects_deleted', expression: 'deleted = (data is null)' }],
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    /** Id chosen by a client. */
    objectId: p.uuid().primary(),
    objectType: p.text().nullable(),
    version: p.integer(),
    /** RFC 8785 text; null for a tombstone. */
    data: p.text().nullable(),
    deleted: p.boolean().default(false),
    /** Sequence number of the object's latest change among the user's changes, in commit order. */
    changeSeq: p.bigint('number'),
    lastModifiedAt: timestamp(),
  },
});

/**
 * The last `change_seq` of each user and tenant. A change locks the row until it commits, so that
 * readers never skip a change.
 */
export const SyncCounter = defineEntity({
  name: 'SyncCounter',
  tableName: 'sync_counters',
  rowLevelSecurity: 'force',
  policies: ownedByUser('sync_counters'),
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    lastChange: p.bigint('number'),
  },
});

/**
 * The current epoch of all users' changes, as a single row. Change numbers are comparable only
 * within an epoch, since a restored backup assigns them again.
 */
export const SyncEpoch = defineEntity({
  name: 'SyncEpoch',
  tableName: 'sync_epochs',
  rowLevelSecurity: 'force',
  policies: [shownToAll('sync_epochs'), ...ownedByService('sync_epochs')],
  checks: [
    { name: 'sync_epochs_single', expression: 'id = 1' },
    { name: 'sync_epochs_epoch', expression: "epoch ~ '^([0-9a-f]{16})?$'" },
  ],
  properties: {
    id: p.integer().primary().autoincrement(false),
    /** Empty until the first restore. */
    epoch: p.text(),
  },
});

export type ConflictType = 'CONCURRENT_MODIFICATION' | 'DELETED_ON_SERVER' | 'VERSION_AHEAD';

/** The outcome of every valid write, in order of the ids. */
export const SyncHistory = defineEntity({
  name: 'SyncHistory',
  tableName: 'sync_history',
  rowLevelSecurity: 'force',
  policies: ownedByUser('sync_history'),
  indexes: [
    { name: 'sync_history_object', properties: ['userId', 'tenantId', 'objectId', 'id'] },
    {
      name: 'sync_history_version',
      expression:
        'create unique index sync_history_version ' +
        'on sync_history (user_id, tenant_id, object_id, version) ' +
        "where status = 'APPLIED'",
    },
    {
      name: 'sync_history_expiry',
      expression:
        'create index sync_history_expiry on sync_history (expires_at) ' +
        'where expires_at is not null',
    },
    {
      name: 'sync_history_undo',
      expression:
        'create index sync_history_undo on sync_history (recorded_at) where undo is not null',
    },
  ],
  checks: [
    { name: 'sync_history_status', expression: "status in ('APPLIED', 'CONFLICT')" },
    {
      name: 'sync_history_conflict',
      expression: "(status = 'CONFLICT') = (conflict_type is not null)",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    ...owner(),
    objectId: p.uuid(),
    /** Version that the write created, or would have created. */
    version: p.integer(),
    baseVersion: p.integer().nullable(),
    status: p.text().$type<'APPLIED' | 'CONFLICT'>(),
    conflictType: p.text().$type<ConflictType>().nullable(),
    ruleApplied: p.text().nullable(),
    syncRequestId: p.uuid().nullable(),
    deviceId: p.uuid(),
    /** Time of the change by the client's clock. */
    changedAt: timestamp(),
    /**
     * JSON array of JSON Pointers: the changed leaves, and removed or replaced objects. Null for a
     * deletion of the whole object.
     */
    changedFields: p.text().nullable(),
    recordedAt: timestamp().defaultRaw('now()'),
    /**
     * JSON of an `Undo` (app/sync/merge/undo.ts), which turns this version into the previous one;
     * null for the first version and for conflicts, and once no kept response can refer to it.
     */
    undo: p.text().nullable(),
    /** When maintenance removes the row; null for the newest versions of each object. */
    expiresAt: timestamp().nullable(),
  },
});

/** The response to a write under an X-Sync-Request-Id, kept for retries of that write. */
export const SyncRequest = defineEntity({
  name: 'SyncRequest',
  tableName: 'sync_requests',
  rowLevelSecurity: 'force',
  policies: ownedByUser('sync_requests'),
  indexes: [{ name: 'sync_requests_expiry', properties: ['expiresAt'] }],
  properties: {
    userId: p.uuid().primary(),
    tenantId: p.text().primary(),
    requestId: p.uuid().primary(),
    /** SHA-256 of the request in hex. */
    digest: p.text(),
    /**
     * The response as JSON text, without the object's data, which it refers to by the version.
     */
    answer: p.text(),
    expiresAt: timestamp(),
  },
});
