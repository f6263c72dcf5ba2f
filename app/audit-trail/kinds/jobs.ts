import { z } from 'zod';
import { Count, Text, theUser, type EventKind } from './kind.ts';

/** Entries of jobs. */
export const jobEvents = {
  'job.submitted': {
    resource: 'job',
    actor: theUser,
    data: z.strictObject({ type: Text }),
  },
  'job.retried': {
    resource: 'job',
    actor: 'the user or an operator',
    data: z.strictObject({ type: Text, jobId: Text, retryCount: Count }),
    note: 'the job failed before; `jobId` is the new one',
  },
  'jobs.purged': {
    resource: 'job_purge',
    actor: 'an operator',
    data: z.strictObject({ db: Count, redis: Count }),
    note: 'counts of one batch: jobs, and entries of the queue',
  },
} as const satisfies Record<string, EventKind>;
