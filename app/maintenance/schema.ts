import { z } from 'zod';
import { Flag, Timestamp } from '../http/bodies/wire.ts';

export const MaintenanceQuery = z.strictObject({
  dryRun: Flag.meta({ description: 'Counts what a run would change, and changes nothing.' }),
});

function reportOf<const Name extends string, C extends z.core.$ZodShape>(task: Name, counts: C) {
  return z.strictObject({
    task: z.literal(task).describe('Name of the task.'),
    dryRun: z.boolean().describe('Whether the run only counted.'),
    startedAt: Timestamp.describe('When the run began.'),
    completedAt: Timestamp.describe('When the run ended.'),
    ...counts,
  });
}

export const ExpiredUploads = reportOf('expire-uploads', {
  expiredSessions: z.int().meta({ description: 'Open upload sessions that were overdue.' }),
  removedFiles: z.int().meta({ description: 'Completed uploads that became no document.' }),
  removedSessions: z.int().meta({ description: 'Upload sessions that ended over 7 days ago.' }),
}).meta({ id: 'ExpiredUploads' });

export const ExpiredDocuments = reportOf('expire-documents', {
  expiredVersions: z.int().meta({ description: 'Versions that were not sealed in time.' }),
}).meta({ id: 'ExpiredDocuments' });

export const RetriedDeadLetters = reportOf('retry-dlq', {
  retriedEntries: z
    .int()
    .meta({ description: 'Entries of the dead-letter queue that were tried.' }),
  recoveredEntries: z
    .int()
    .meta({ description: 'The number of retried entries that were signed.' }),
}).meta({ id: 'RetriedDeadLetters' });

export const Reencrypted = reportOf('reencrypt', {
  reencryptedCredentials: z.int().meta({ description: 'Salts and verifiers of passwords.' }),
  reencryptedRegistrations: z.int().meta({ description: 'Those of unvalidated registrations.' }),
  reencryptedEnvelopes: z.int().meta({ description: 'Master envelopes.' }),
  reencryptedReplacedKeys: z.int().meta({ description: 'Master envelopes that were replaced.' }),
}).meta({ id: 'Reencrypted' });

export const VerifiedFiles = reportOf('verify-files', {
  checkedFiles: z.int().meta({
    description: 'Files that were read to their ends, or that the store does not have.',
  }),
  damagedFiles: z.int().meta({ description: 'Those that were newly found damaged or missing.' }),
  unreadableFiles: z.int().meta({
    description: 'Files that could not be read, although the store answers; tried again later.',
  }),
}).meta({ id: 'VerifiedFiles' });

export const CollectedGarbage = reportOf('collect-garbage', {
  abortedUploads: z
    .int()
    .meta({ description: 'Multipart uploads that belong to no upload session.' }),
  deletedObjects: z.int().meta({ description: 'Objects that nothing refers to.' }),
  removedIdempotencyKeys: z.int().meta({ description: 'Kept responses, after a day.' }),
  removedSyncRequests: z
    .int()
    .meta({ description: 'Kept responses of sync writes, after 7 days.' }),
  removedSyncHistory: z.int().meta({
    description: 'Versions of objects beyond the newest 100, after 8 days, and old conflicts.',
  }),
  forgottenSyncUndos: z.int().meta({
    description: 'Former values of objects, to which no kept response can refer any more.',
  }),
  removedAddresses: z.int().meta({ description: 'Client addresses without a login for a month.' }),
  removedLoginSessions: z
    .int()
    .meta({ description: 'Login sessions that ended over 30 days ago.' }),
  removedSessionDevices: z.int().meta({
    description: 'Devices that were bound to sessions of other issuers over 400 days ago.',
  }),
  removedReplacedKeys: z
    .int()
    .meta({ description: 'Envelopes and sharing keys that were replaced over 30 days ago.' }),
  removedExports: z
    .int()
    .meta({ description: 'Archives of evidence exports that expired: see JOBS_EXPORT_DAYS.' }),
  settledMfaChanges: z
    .int()
    .meta({ description: 'Users whose unfinished changes of MFA were recorded or ended.' }),
}).meta({ id: 'CollectedGarbage' });
