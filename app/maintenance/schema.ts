import { z } from 'zod';
import { Flag, Timestamp } from '../http/bodies/wire.ts';

export const MaintenanceQuery = z.strictObject({
  dryRun: Flag.meta({ description: 'Counts what would be done and does nothing.' }),
});

function reportOf<const Name extends string, C extends z.core.$ZodShape>(task: Name, counts: C) {
  return z.strictObject({
    task: z.literal(task),
    dryRun: z.boolean(),
    startedAt: Timestamp,
    completedAt: Timestamp,
    ...counts,
  });
}

export const ExpiredUploads = reportOf('expire-uploads', {
  expiredSessions: z.int().meta({ description: 'Open sessions that were past their end.' }),
  removedFiles: z.int().meta({ description: 'Completed uploads that became no document.' }),
  removedSessions: z.int().meta({ description: 'Sessions that ended over 7 days ago.' }),
});

export const ExpiredDocuments = reportOf('expire-documents', {
  expiredVersions: z.int().meta({ description: 'Versions that were not sealed in time.' }),
});

export const RetriedDeadLetters = reportOf('retry-dlq', {
  retriedEntries: z.int().meta({ description: 'Entries of the dead-letter queue.' }),
  recoveredEntries: z.int().meta({ description: 'Those that are signed now.' }),
});

export const CollectedGarbage = reportOf('collect-garbage', {
  abortedUploads: z.int().meta({ description: 'Open uploads that no session has.' }),
  deletedObjects: z.int().meta({ description: 'Objects that nothing refers to.' }),
  removedIdempotencyKeys: z.int(),
  removedSyncRequests: z.int().meta({ description: 'Answers kept for 7 days.' }),
  removedAddresses: z.int().meta({ description: 'From which nobody has logged in for a month.' }),
  removedLoginSessions: z.int().meta({ description: 'That ended over 30 days ago.' }),
  removedSessionDevices: z.int().meta({
    description: 'Devices that sessions of other issuers were bound to over 400 days ago.',
  }),
});
