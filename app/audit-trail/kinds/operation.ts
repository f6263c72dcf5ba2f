import { z } from 'zod';
import { keyRecordData } from '../../../signer/protocol/key-record.ts';
import { Count, Text, theUser, type EventKind } from './kind.ts';

const maintenanceCounts = {
  expiredSessions: Count.optional(),
  removedFiles: Count.optional(),
  removedSessions: Count.optional(),
  expiredVersions: Count.optional(),
  abortedUploads: Count.optional(),
  deletedObjects: Count.optional(),
  removedIdempotencyKeys: Count.optional(),
  removedSyncRequests: Count.optional(),
  removedSyncHistory: Count.optional(),
  forgottenSyncUndos: Count.optional(),
  removedAddresses: Count.optional(),
  removedLoginSessions: Count.optional(),
  removedSessionDevices: Count.optional(),
  removedReplacedKeys: Count.optional(),
  removedExports: Count.optional(),
  settledMfaChanges: Count.optional(),
  retriedEntries: Count.optional(),
  recoveredEntries: Count.optional(),
  reencryptedCredentials: Count.optional(),
  reencryptedRegistrations: Count.optional(),
  reencryptedEnvelopes: Count.optional(),
  reencryptedReplacedKeys: Count.optional(),
  checkedFiles: Count.optional(),
  damagedFiles: Count.optional(),
  unreadableFiles: Count.optional(),
  checkedEntries: Count.optional(),
  checkedTrails: Count.optional(),
  damagedEntries: Count.optional(),
  missingEntries: Count.optional(),
  mendedFindings: Count.optional(),
  resumedMessages: Count.optional(),
  removedJobs: Count.optional(),
  removedQueueEntries: Count.optional(),
};

/** Entries of signing keys, the audit log itself and maintenance. */
export const operationEvents = {
  'key.created': {
    resource: 'key',
    actor: 'system `keys`',
    data: keyRecordData['key.created'],
    note: '`imported`: the HSM did not generate the key',
  },
  'key.activated': {
    resource: 'key',
    actor: 'system `keys`',
    data: keyRecordData['key.activated'],
  },
  'key.retired': {
    resource: 'key',
    actor: 'system `keys`',
    data: keyRecordData['key.retired'],
    note: '`lost`: the HSM does not hold the key, and nobody checked what is said of it',
  },
  'key.compromised': {
    resource: 'key',
    actor: 'system `keys`',
    data: keyRecordData['key.compromised'],
    note: 'somebody else may have the key since `since`; `lost` as above',
  },
  'encryption_key.created': {
    resource: 'encryption_key',
    actor: 'system `keys`',
    data: z.strictObject({ generation: Count, requestedBy: Text }),
  },
  'encryption_key.escrowed': {
    resource: 'encryption_key',
    actor: 'system `keys`',
    data: z.strictObject({ generation: Count, escrowKey: Text }),
    note: 'the key was encrypted for the offline key with the fingerprint `escrowKey`',
  },
  'audit.retried': {
    resource: 'audit_entry',
    actor: 'an operator',
    data: z.strictObject({
      status: z.enum(['RECOVERED', 'PENDING']),
      attempts: Count,
      lastError: Text.nullable(),
      by: Text.nullable(),
    }),
  },
  'audit.abandoned': {
    resource: 'audit_entry',
    actor: 'an operator',
    data: z.strictObject({
      textHash: Text,
      resourceType: Text,
      resourceId: Text,
      seq: Count,
      lastError: Text.nullable(),
      reason: Text.nullable(),
      by: Text.nullable(),
    }),
    note: 'the entry is the tombstone of the abandoned entry',
  },
  'audit.read': {
    resource: 'account',
    actor: theUser,
    data: z.strictObject({ count: Count, minute: Text }),
  },
  'internal_keys.configured': {
    resource: 'internal_keys',
    actor: 'system `internal-api`',
    data: z.strictObject({
      keys: z.array(z.strictObject({ name: Text, fingerprint: Text, admin: z.boolean() })),
    }),
    note:
      'the whole set, which differs from the one before; a `fingerprint` is the first 16 digits ' +
      'of the SHA-256 of the key',
  },
  'internal_key.used': {
    resource: 'internal_key',
    actor: 'system, named by the internal key',
    data: z.strictObject({ route: Text, count: Count, minute: Text }),
    note: 'requests that the key was admitted to, whether or not they succeeded',
  },
  'maintenance.ran': {
    resource: 'maintenance',
    actor: 'system, named by its internal key',
    data: z.strictObject({ task: Text, ...maintenanceCounts }),
    note: 'counts of one batch',
  },
  'vault.marked': {
    resource: 'mark',
    actor: 'system `marks`',
    data: z.strictObject({ sealed: Count, newestEntryId: Text.nullable(), keyIds: Text }),
    note: 'the entry is kept in the object store, not in the database',
  },
  'vault.restored': {
    resource: 'vault',
    actor: 'system `marks` or `cli`',
    data: z.strictObject({
      mark: Text.optional(),
      missing: Text.optional(),
      sealed: Count.optional(),
      epoch: Text,
    }),
  },
} as const satisfies Record<string, EventKind>;
