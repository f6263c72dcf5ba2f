import { z } from 'zod';
import { Flag, MonthText, Timestamp, Uuid } from '../http/bodies/wire.ts';

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

export const DrainedOutbox = reportOf('drain-outbox', {
  resumedMessages: z.int().meta({ description: 'Parked messages that are tried again.' }),
}).meta({ id: 'DrainedOutbox' });

export const PurgedOldJobs = reportOf('purge-jobs', {
  removedJobs: z.int().meta({ description: 'Jobs that were over for 30 days.' }),
  removedQueueEntries: z
    .int()
    .meta({ description: 'Entries of the queue that were 7 days old and of no use.' }),
}).meta({ id: 'PurgedOldJobs' });

const archivedMonths = z
  .array(MonthText)
  .describe('Months in UTC, such as `2026-01`, that are archived, and so left out.');

export const VerifiedLog = reportOf('verify-log', {
  madePartitions: z
    .int()
    .meta({ description: 'Partitions of the log that were made for the coming year.' }),
  checkedEntries: z.int().meta({
    description: 'Entries that were looked at: earlier findings, the newest, the next stretch.',
  }),
  checkedTrails: z
    .int()
    .meta({ description: 'Resources whose last number was looked for in the log.' }),
  damagedEntries: z.int().meta({
    description: 'Entries that were newly found not to be valid, or to contradict their rows.',
  }),
  missingEntries: z.int().meta({ description: 'Numbers that were newly found without an entry.' }),
  mendedFindings: z
    .int()
    .meta({ description: 'Findings of earlier runs at whose places the log is whole now.' }),
  archivedMonths,
}).meta({ id: 'VerifiedLog' });

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

/** The names of all tasks, in the order of their report. */
export const TaskName = z.enum([
  'purge-accounts',
  'purge-jobs',
  'expire-uploads',
  'expire-documents',
  'collect-garbage',
  'drain-outbox',
  'retry-dlq',
  'reencrypt',
  'verify-files',
  'verify-log',
]);

const Count = z.int().min(0);

const MaintenanceRun = z
  .strictObject({
    id: Uuid.describe('Id of the run.'),
    dryRun: z.boolean().describe('Whether the run only counted.'),
    requestedBy: z.string().describe('The name of the internal API key.'),
    state: z
      .enum(['RUNNING', 'SUCCEEDED', 'FAILED', 'INTERRUPTED'])
      .describe(
        'How the run went. `INTERRUPTED`: its process was stopped or died; the next run goes on.',
      ),
    error: z
      .string()
      .nullable()
      .describe('The code of the error that ended the run; null if there was none.'),
    counts: z
      .record(z.string(), Count)
      .describe('What the run has done so far, as in the report of the task.'),
    startedAt: Timestamp.describe('When the run began.'),
    endedAt: Timestamp.nullable().describe(
      'When the run ended; null while it lasts, or if its process died.',
    ),
  })
  .meta({ id: 'MaintenanceRun' });

const TaskStatus = z
  .strictObject({
    task: TaskName.describe('Name of the task.'),
    lastRun: MaintenanceRun.nullable().describe('The last run that was no dry run.'),
    lastSuccess: MaintenanceRun.nullable().describe(
      'The last run that was no dry run and succeeded.',
    ),
    running: MaintenanceRun.nullable().describe('The run that lasts now; the last if several do.'),
  })
  .meta({ id: 'MaintenanceTaskStatus' });

const oldestAt = Timestamp.nullable().describe('When the oldest of them was added.');

export const MaintenanceStatus = z
  .strictObject({
    tasks: z.array(TaskStatus).describe('Every task, whether or not it ever ran.'),
    outbox: z
      .strictObject({
        waiting: Count.describe('Side effects that wait, those under way included.'),
        oldestAt,
        parked: z
          .record(z.string(), Count)
          .describe('Number by kind of those that failed 20 times; `drain-outbox` resumes them.'),
      })
      .meta({ id: 'OutboxStatus' })
      .describe('E-mails, removals of stored files and the like that are not done.'),
    jobs: z
      .strictObject({
        pending: Count.describe('Jobs that wait.'),
        active: Count.describe('Jobs that workers run now.'),
        completed: Count.describe('Jobs that have a result.'),
        failed: Count.describe('Jobs that failed and were not retried.'),
        retried: Count.describe('Failed jobs that were submitted again.'),
      })
      .meta({ id: 'JobCounts' })
      .describe('The jobs of all tenants by state, until they are purged.'),
    backlog: z
      .strictObject({ unsigned: Count.describe('Entries without a signature.'), oldestAt })
      .meta({ id: 'BacklogStatus' })
      .describe('Audit entries that wait for their signature.'),
    partitions: z
      .strictObject({
        monthsAhead: z
          .int()
          .min(-1)
          .describe('Months after this one that have partitions; -1 if this one has none either.'),
        archivedMonths,
      })
      .meta({ id: 'PartitionStatus' })
      .describe('The partitions of the audit log, which `verify-log` makes a year ahead.'),
    deadLetters: z
      .strictObject({ pending: Count.describe('Entries in the dead-letter queue.'), oldestAt })
      .meta({ id: 'DeadLetterStatus' })
      .describe('Audit entries that could not be signed.'),
  })
  .meta({ id: 'MaintenanceStatus' });
