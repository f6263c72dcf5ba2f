import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../columns/columns.ts';
import {
  callerId,
  callerTenant,
  insertedByAll,
  onlyInserts,
  ownedByUser,
  ownedUnder,
  servicePolicy,
  sharedWithCaller,
  shownToAll,
} from '../columns/policies.ts';
import { keepsRemoved, queuesCheck, refuses } from '../columns/triggers.ts';

type DocumentStatus = 'PENDING' | 'SEALED' | 'EXPIRED';

/** An encrypted file that is kept as evidence, in one or more versions. */
export const Document = defineEntity({
  name: 'Document',
  tableName: 'documents',
  rowLevelSecurity: 'force',
  policies: [...ownedByUser('documents'), sharedWithCaller('documents', 'id')],
  triggers: [keepsRemoved('documents')],
  indexes: [{ name: 'documents_user', properties: ['userId', 'place'] }],
  properties: {
    /** Random, and chosen by the client, or in the order of creation. */
    id: p.uuid().primary(),
    ...owner(),
    /** The place in lists: a UUID of version 7, in the order of creation. */
    place: p.uuid(),
    /** The current version, which is the newest one. */
    version: p.integer().default(1),
    /** Count of the changes of the document; its ETag. */
    revision: p.integer().default(1),
    createdAt: createdAt(),
  },
});

/**
 * A version of a document: a file with its own hash, status and audit proof. Once sealed, no login
 * changes it, and only the service login removes it.
 */
export const DocumentVersion = defineEntity({
  name: 'DocumentVersion',
  tableName: 'document_versions',
  rowLevelSecurity: 'force',
  policies: [
    ...ownedUnder('document_versions', 'document_id', 'documents'),
    sharedWithCaller('document_versions', 'document_id', 'version'),
    onlyInserts('document_versions', "status = 'PENDING'"),
  ],
  triggers: [
    queuesCheck('document_versions'),
    refuses('document_versions', {
      name: 'sealed',
      event: 'update',
      when: "old.status = 'SEALED' and new is distinct from old",
    }),
    refuses('document_versions', {
      name: 'kept',
      event: 'delete',
      when: "old.status = 'SEALED' and not pg_has_role(session_user, 'probatio_service', 'usage')",
    }),
  ],
  uniques: [
    { name: 'document_versions_hash', properties: ['userId', 'tenantId', 'fileHash'] },
    { name: 'document_versions_storage_key', properties: ['storageKey'] },
  ],
  indexes: [
    {
      name: 'document_versions_pending',
      expression:
        'create index document_versions_pending on document_versions (created_at) ' +
        "where status = 'PENDING'",
    },
    {
      name: 'document_versions_unsealed',
      expression:
        'create index document_versions_unsealed ' +
        'on document_versions (user_id, tenant_id, document_id) ' +
        "where status <> 'SEALED'",
    },
  ],
  checks: [
    { name: 'document_versions_status', expression: "status in ('PENDING', 'SEALED', 'EXPIRED')" },
    {
      name: 'document_versions_sealed',
      expression: "(status = 'SEALED') = (proof_id is not null and sealed_at is not null)",
    },
  ],
  properties: {
    document: () =>
      p.manyToOne(Document).mapToPk().primary().deleteRule('cascade').updateRule('no action'),
    version: p.integer().primary(),
    ...owner(),
    storageKey: p.text(),
    objectVersion: p.text(),
    fileSize: p.bigint('number'),
    /** SHA3-256 of the stored ciphertext in hex. */
    fileHash: p.text(),
    /** Ciphertext in base64, opaque to the service. */
    encryptedMetadata: p.text(),
    status: p.text().$type<DocumentStatus>().default('PENDING'),
    createdAt: createdAt(),
    sealedAt: timestamp().nullable(),
    /** The audit entry that seals the version. */
    proofId: p.uuid().nullable(),
    /** The client's commitment to the file before it was encrypted, in hex. */
    contentCommitment: p.text().nullable(),
  },
});

/**
 * Keyword hashes of documents. They have a table of their own because Postgres does not use a GIN
 * index on an array column under forced row-level security.
 */
export const DocumentKeyword = defineEntity({
  name: 'DocumentKeyword',
  tableName: 'document_keywords',
  rowLevelSecurity: 'force',
  policies: ownedUnder('document_keywords', 'document_id', 'documents'),
  indexes: [{ name: 'document_keywords_document', properties: ['document'] }],
  properties: {
    userId: p.uuid().primary(),
    keywordHash: p.text().primary(),
    /** The place of the document in lists. */
    place: p.uuid().primary(),
    document: () => p.manyToOne(Document).mapToPk().deleteRule('cascade').updateRule('no action'),
    tenantId: p.text(),
  },
});

/**
 * The result of the last checks of a version's stored object. A row begins when the version is
 * sealed, or when a job checks it; the rows are the queue of the task `verify-files`. The times are
 * those of Postgres's clock.
 */
export const ObjectCheck = defineEntity({
  name: 'ObjectCheck',
  tableName: 'object_checks',
  rowLevelSecurity: 'force',
  policies: [
    ...ownedUnder('object_checks', 'document_id', 'documents'),
    sharedWithCaller('object_checks', 'document_id', 'version'),
    onlyInserts('object_checks', 'checked_at is null and whole_at is null and damage is null'),
  ],
  indexes: [
    {
      name: 'object_checks_queue',
      expression:
        "create index object_checks_queue on object_checks ((coalesce(checked_at, '-infinity')))",
    },
    {
      name: 'object_checks_damages',
      expression:
        'create index object_checks_damages on object_checks (damaged_at) where damage is not null',
    },
    {
      name: 'object_checks_unreadable',
      expression:
        'create index object_checks_unreadable on object_checks (unreadable_since) ' +
        'where unreadable_since is not null',
    },
  ],
  checks: [
    { name: 'object_checks_damage', expression: "damage in ('damaged', 'missing')" },
    { name: 'object_checks_damaged', expression: '(damage is null) = (damaged_at is null)' },
  ],
  properties: {
    document: () =>
      p.manyToOne(Document).mapToPk().primary().deleteRule('cascade').updateRule('no action'),
    version: p.integer().primary(),
    ...owner(),
    /** The newest check that could tell whether the object is whole. */
    checkedAt: timestamp().nullable(),
    /** The newest check that found the object whole. */
    wholeAt: timestamp().nullable(),
    /** The damage that the newest check found; null if the object was whole. */
    damage: p.text().$type<'damaged' | 'missing'>().nullable(),
    /** When that damage was found first. */
    damagedAt: timestamp().nullable(),
    /** Since when no check could read the object; null after one that could. */
    unreadableSince: timestamp().nullable(),
    /** Earliest next check, after one that could not read the object. */
    availableAt: timestamp().defaultRaw('now()'),
  },
});

/** The ids of documents that are gone, which no other document may ever have. */
export const RemovedDocument = defineEntity({
  name: 'RemovedDocument',
  tableName: 'removed_documents',
  rowLevelSecurity: 'force',
  policies: [
    shownToAll('removed_documents'),
    insertedByAll('removed_documents'),
    servicePolicy('removed_documents'),
  ],
  properties: { id: p.uuid().primary() },
});

const isOfVersion = [
  'document_versions.document_id = downloads.document_id',
  'document_versions.version = downloads.version',
  'document_versions.user_id = downloads.user_id',
  'document_versions.tenant_id = downloads.tenant_id',
  'document_versions.file_hash = downloads.file_hash',
].join(' and ');

const isOfExport = [
  'evidence_exports.job_id = downloads.job_id',
  'evidence_exports.document_id = downloads.document_id',
  'evidence_exports.user_id = downloads.user_id',
  'evidence_exports.tenant_id = downloads.tenant_id',
  'evidence_exports.hash = downloads.file_hash',
].join(' and ');

const isUnderShare = [
  'document_shares.id = downloads.share_id',
  'document_shares.document_id = downloads.document_id',
  'document_shares.recipient_user_id = downloads.reader_id',
].join(' and ');

/**
 * A response with the bytes of a file that is not an audit entry yet. The row is stored before the
 * first byte is sent. The app login may only insert one, for its caller and a version that its
 * caller may read or an archive of its caller's, and see its caller's. The times are those of
 * Postgres's clock.
 */
export const Download = defineEntity({
  name: 'Download',
  tableName: 'downloads',
  rowLevelSecurity: 'force',
  policies: [
    {
      name: 'downloads_begin',
      command: 'insert',
      roles: ['probatio_app'],
      check:
        `reader_id = ${callerId} and tenant_id = ${callerTenant} ` +
        'and ended_at is null ' +
        `and (exists (select 1 from document_versions where ${isOfVersion}) ` +
        'and (share_id is null and user_id = reader_id ' +
        `or exists (select 1 from document_shares where ${isUnderShare})) ` +
        `or exists (select 1 from evidence_exports where ${isOfExport}) ` +
        'and share_id is null and user_id = reader_id)',
    },
    {
      name: 'downloads_reader',
      command: 'select',
      roles: ['probatio_app'],
      using: `reader_id = ${callerId} and tenant_id = ${callerTenant}`,
    },
    servicePolicy('downloads'),
  ],
  checks: [
    { name: 'downloads_lease', expression: '(held_until is null) = (ended_at is not null)' },
    { name: 'downloads_sent', expression: 'sent is null or ended_at is not null' },
    { name: 'downloads_complete', expression: 'not is_complete or sent is not null' },
    { name: 'downloads_content', expression: '(version is null) = (job_id is not null)' },
  ],
  indexes: [
    { name: 'downloads_owner', properties: ['userId'] },
    { name: 'downloads_reader', properties: ['readerId'] },
    {
      name: 'downloads_held',
      expression:
        'create index downloads_held on downloads (held_until) where held_until is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    /** The document's owner. */
    ...owner(),
    documentId: p.uuid(),
    /** Null for the archive of an evidence export. */
    version: p.integer().nullable(),
    /** The job that wrote the archive; null for the file of a version. */
    jobId: p.uuid().nullable(),
    fileHash: p.text(),
    readerId: p.uuid(),
    /** The share by which the reader may read the document; null for its owner. */
    shareId: p.uuid().nullable(),
    requestId: p.uuid(),
    /** Whether a range was asked for: the ranges of one download become one entry. */
    isPart: p.boolean(),
    beganAt: createdAt(),
    /** End of the lease of the process that sends the bytes; null once they are sent. */
    heldUntil: timestamp().nullable(),
    endedAt: timestamp().nullable(),
    /** Bytes that were handed to the socket; null if the process that knew it has died. */
    sent: p.bigint('number').nullable(),
    isComplete: p.boolean().default(false),
  },
});
