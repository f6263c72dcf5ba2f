import { defineEntity, p } from '@mikro-orm/core';
import { owner, timestamp } from '../columns/columns.ts';
import { ownedByService, ownedByUser, shownToAll } from '../columns/policies.ts';

/** An object that a user's devices share, as it is now. A deleted one stays as its tombstone. */
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
    /** Chosen by a client. */
    objectId: p.uuid().primary(),
    objectType: p.text().nullable(),
    version: p.integer(),
    /** RFC 8785 text. */
    data: p.text().nullable(),
    deleted: p.boolean().default(false),
    /** Of its latest change among all changes of the user, in the order of their commits. */
    changeSeq: p.bigint('number'),
    lastModifiedAt: timestamp(),
  },
});

/** The last `change_seq` of each user in each tenant, locked until a change commits: so readers skip none. */
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
 * The present epoch of all users' changes: a single row. Numbers of changes mean something within an
 * epoch alone, since a restored backup gives them out again.
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

/** What became of every write that was understood, in order of their ids. */
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
        "create unique index sync_history_version on sync_history (user_id, tenant_id, object_id, version) where status = 'APPLIED'",
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
    /** The one that it made, or that the client wanted to make. */
    version: p.integer(),
    baseVersion: p.integer().nullable(),
    status: p.text().$type<'APPLIED' | 'CONFLICT'>(),
    conflictType: p.text().$type<ConflictType>().nullable(),
    ruleApplied: p.text().nullable(),
    syncRequestId: p.uuid().nullable(),
    deviceId: p.uuid(),
    /** By the client's clock. */
    changedAt: timestamp(),
    /**
     * The leaves that it changed, and objects that it removed or replaced: a JSON array of JSON
     * Pointers; null for a deletion of all.
     */
    changedFields: p.text().nullable(),
    recordedAt: timestamp().defaultRaw('now()'),
  },
});

/** The answer to a write under an X-Sync-Request-Id, for the same write sent again. */
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
    /** SHA-256 of what was asked, hex. */
    digest: p.text(),
    /** JSON text. */
    answer: p.text(),
    expiresAt: timestamp(),
  },
});
