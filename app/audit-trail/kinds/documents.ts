import { z } from 'zod';
import { Count, nothing, Text, theUser, type EventKind } from './kind.ts';

/** The statement of the act by its author, which the author's identity signed. */
const author = z.strictObject({
  statement: z.record(z.string(), z.union([z.string(), z.int(), z.null()])),
  signature: Text,
  /** The public X25519 key of the identity, which its fingerprint covers too. */
  sharingKey: Text,
});

const syncWrite = {
  resource: 'sync_object',
  actor: theUser,
  data: z.strictObject({
    version: Count,
    baseVersion: Count.nullable(),
    deviceId: Text,
    conflictType: Text.nullable(),
    ruleApplied: Text.nullable(),
  }),
} as const satisfies EventKind;

/** Entries of uploads, documents, shares and synchronised objects. */
export const documentEvents = {
  'upload.created': {
    resource: 'upload',
    actor: theUser,
    data: z.strictObject({ fileSize: Count, totalParts: Count }),
  },
  'upload.completed': {
    resource: 'upload',
    actor: theUser,
    data: z.strictObject({ fileSize: Count, totalParts: Count }),
  },
  'upload.aborted': { resource: 'upload', actor: theUser, data: nothing },
  'upload.expired': {
    resource: 'upload',
    actor: 'system, named by its internal key, or null if the owner needed the room',
    data: z.strictObject({ fileSize: Count, wasCompleted: z.boolean() }),
  },
  'document.created': {
    resource: 'document',
    actor: theUser,
    data: z.strictObject({ fileHash: Text, size: Count, contentCommitment: Text.optional() }),
  },
  'document.metadata_changed': {
    resource: 'document',
    actor: theUser,
    data: z.strictObject({ version: Count, metadataHash: Text }),
  },
  'document.version_added': {
    resource: 'document',
    actor: theUser,
    data: z.strictObject({
      version: Count,
      fileHash: Text,
      size: Count,
      contentCommitment: Text.optional(),
    }),
  },
  'document.sealed': {
    resource: 'document',
    actor: theUser,
    data: z.strictObject({
      version: Count,
      fileHash: Text,
      size: Count,
      metadataHash: Text,
      contentCommitment: Text.optional(),
      author: author.optional(),
    }),
    note: '`author` is what the user stated and signed of it',
  },
  'document.expired': {
    resource: 'document',
    actor: 'system',
    data: z.strictObject({ version: Count, fileHash: Text }),
  },
  'document.fixity_failed': {
    resource: 'document',
    actor: 'system, named by its internal key, or null if a job found it',
    data: z.strictObject({
      version: Count,
      fileHash: Text,
      state: Text,
      foundHash: Text.nullable(),
    }),
    note: '`state` is `damaged` or `missing`; once for each damage; its outcome is failure',
  },
  'document.deleted': {
    resource: 'document',
    actor: 'the user or an administrator',
    data: z.strictObject({
      fileHash: Text,
      status: Text,
      versions: Count,
      sealedVersions: Count,
      author: author.optional(),
    }),
  },
  'document.exported': {
    resource: 'document',
    actor: theUser,
    data: z.strictObject({ manifestHash: Text, through: Count }),
    note: '`manifestHash` is the SHA3-256 of manifest.txt; the entries 1 to `through` are exported',
  },
  'document.shared': {
    resource: 'document',
    actor: theUser,
    data: z.strictObject({
      shareId: Text,
      recipientId: Text,
      recipientFingerprint: Text.nullable(),
      version: Count.nullable(),
      permissions: Text,
      expiresAt: Text.nullable(),
      signed: z.boolean(),
      author: author.optional(),
    }),
    note: '`recipientFingerprint` is what the sharer was shown; no `version` means all of them',
  },
  'document.unshared': {
    resource: 'document',
    actor: theUser,
    data: z.strictObject({ shareId: Text, recipientId: Text, author: author.optional() }),
  },
  'document.downloaded': {
    resource: 'document',
    actor: 'the reader',
    data: z.strictObject({
      version: Count.optional(),
      jobId: Text.optional(),
      fileHash: Text,
      bytes: Count.nullable(),
      complete: z.boolean(),
      shareId: Text.optional(),
    }),
    note:
      '`version` names the version whose file was sent; without it the file is the archive that ' +
      'the evidence export `jobId` wrote; ' +
      '`bytes` is what was handed to the socket, null if the process that sent it died; ' +
      '`complete` if that is all that was asked for; ranges of one download are summed up',
  },
  'share.removed': {
    resource: 'share',
    actor: 'the recipient',
    data: z.strictObject({ documentId: Text }),
  },
  'sender.blocked': { resource: 'sender', actor: theUser, data: nothing },
  'sender.unblocked': { resource: 'sender', actor: theUser, data: nothing },
  'sync.created': syncWrite,
  'sync.changed': syncWrite,
  'sync.deleted': syncWrite,
  'sync.conflicted': { ...syncWrite, note: 'a write that changed nothing; its outcome is failure' },
} as const satisfies Record<string, EventKind>;
