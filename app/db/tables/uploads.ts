import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, owner, timestamp } from '../columns/columns.ts';
import { ownedByUser, ownedUnder } from '../columns/policies.ts';

type UploadStatus = 'IN_PROGRESS' | 'COMPLETED' | 'ABORTED' | 'EXPIRED';

/** An upload session: the multipart upload of one file. */
export const UploadSession = defineEntity({
  name: 'UploadSession',
  tableName: 'upload_sessions',
  rowLevelSecurity: 'force',
  policies: ownedByUser('upload_sessions'),
  uniques: [{ name: 'upload_sessions_key', properties: ['storageKey'] }],
  indexes: [
    { name: 'upload_sessions_user', properties: ['userId', 'status'] },
    {
      name: 'upload_sessions_open',
      expression:
        'create index upload_sessions_open on upload_sessions (expires_at) ' +
        "where status = 'IN_PROGRESS'",
    },
    {
      name: 'upload_sessions_unused',
      expression:
        'create index upload_sessions_unused on upload_sessions (completed_at, id) ' +
        "where status = 'COMPLETED' and not is_used",
    },
    {
      name: 'upload_sessions_unused_of_user',
      expression:
        'create index upload_sessions_unused_of_user on upload_sessions (user_id, tenant_id, id) ' +
        'where not is_used',
    },
    {
      name: 'upload_sessions_ended',
      expression:
        'create index upload_sessions_ended ' +
        'on upload_sessions ((coalesce(aborted_at, expires_at))) ' +
        "where status in ('ABORTED', 'EXPIRED')",
    },
  ],
  checks: [
    {
      name: 'upload_sessions_status',
      expression: "status in ('IN_PROGRESS', 'COMPLETED', 'ABORTED', 'EXPIRED')",
    },
  ],
  properties: {
    id: p.uuid().primary(),
    ...owner(),
    fileName: p.text(),
    fileSize: p.bigint('number'),
    mimeType: p.text(),
    totalParts: p.integer(),
    /** Key of the object, `<uuid>/<file name>`; on the wire `fileKey` and `storagePath`. */
    storageKey: p.text(),
    storageUploadId: p.text(),
    status: p.text().$type<UploadStatus>().default('IN_PROGRESS'),
    createdAt: createdAt(),
    expiresAt: timestamp(),
    /**
     * End of the lease of a running completion, which calls the object store outside transactions.
     */
    completingUntil: timestamp().nullable(),
    completedAt: timestamp().nullable(),
    abortedAt: timestamp().nullable(),
    /** Version of the stored bytes; set on completion. */
    objectVersion: p.text().nullable(),
    /** SHA3-256 of the stored bytes in hex; set once the background hash is done. */
    fileHash: p.text().nullable(),
    /** Whether a document version was made of the file. */
    isUsed: p.boolean().default(false),
  },
});

/** A part that is being received (claimed) or is stored (with size, etag and sha256). */
export const UploadPart = defineEntity({
  name: 'UploadPart',
  tableName: 'upload_parts',
  rowLevelSecurity: 'force',
  policies: ownedUnder('upload_parts', 'session_id', 'upload_sessions'),
  properties: {
    session: () =>
      p.manyToOne(UploadSession).mapToPk().primary().deleteRule('cascade').updateRule('no action'),
    partNumber: p.integer().primary(),
    ...owner(),
    size: p.bigint('number').nullable(),
    etag: p.text().nullable(),
    /** SHA-256 of the part in base64. */
    sha256: p.text().nullable(),
    storedAt: timestamp().nullable(),
    /** Fencing token of the request that receives the part and renews its lease meanwhile. */
    claimId: p.uuid().nullable(),
    /** End of the lease of `claimId`. */
    claimedUntil: timestamp().nullable(),
  },
});
