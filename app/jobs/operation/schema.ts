import { z } from 'zod';
import { Flag, Limit, Timestamp, Uuid } from '../../http/bodies/wire.ts';
import { JobTypeName } from '../types/schemas.ts';
import { maxCounted } from './finished-jobs.ts';

const jobId = Uuid.describe('Id of the job.');

const total = z
  .int()
  .min(0)
  .describe(`Number of such jobs; ${maxCounted} stands for this many or more.`);

/** A moment that has passed, by the clock of this process. */
const Past = z.iso
  .datetime()
  .transform((text) => new Date(text))
  .refine((date) => date.getTime() <= Date.now(), 'must not be in the future');

export const FailedQuery = z.strictObject({
  retryable: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional()
    .describe('Lists only jobs that can be retried, or only those that cannot.'),
  jobType: JobTypeName.optional().describe('Lists only jobs of this type.'),
  since: Past.optional().describe('Lists only jobs that failed at this time or later.'),
  limit: Limit,
});

export const FailedJobs = z
  .strictObject({
    jobs: z
      .array(
        z
          .strictObject({
            jobId,
            type: JobTypeName,
            status: z.literal('FAILED').describe('Always this value.'),
            failedAt: Timestamp.describe('When the job failed.'),
            error: z.string().describe('A code that says why the job failed.'),
            retryable: z.boolean().describe('Whether the job can be retried.'),
          })
          .meta({ id: 'FailedJob' }),
      )
      .describe('The jobs, those that failed last first.'),
    total,
  })
  .meta({ id: 'FailedJobs' });

const Count = z.int().min(0);

export const JobStats = z
  .strictObject({
    pending: Count.describe('Jobs that wait.'),
    active: Count.describe('Jobs that workers run now.'),
    completed: Count.describe('Jobs that have a result.'),
    failed: Count.describe('Jobs that failed and were not retried.'),
    retried: Count.describe('Failed jobs that were submitted again.'),
    totalProcessed: Count.describe('Jobs that are over: completed, failed and retried.'),
  })
  .meta({ id: 'JobStatistics' });

/** Seconds of a unit of an age. */
const unitSeconds = { m: 60, h: 3_600, d: 86_400, w: 604_800 } as const;
const agePattern = /^([1-9][0-9]{0,4})([mhdw])$/;

/** An age such as `30d`, with its text. */
export interface Age {
  readonly text: string;
  readonly seconds: number;
}

/** Parses an age: a number of minutes, hours, days or weeks, such as `30d`. */
const AgeText = z
  .string()
  .regex(agePattern, 'must be a number and one of m, h, d and w, such as 30d')
  .transform((text): Age => {
    const [, count, unit] = agePattern.exec(text) ?? [];
    return { text, seconds: Number(count) * unitSeconds[unit as keyof typeof unitSeconds] };
  });

export const PurgeableQuery = z.strictObject({
  olderThan: AgeText.optional().describe('The least time since the job was over. Default: `30d`.'),
  limit: Limit,
});

const PurgeableJob = z
  .strictObject({
    jobId,
    type: JobTypeName,
    status: z.enum(['COMPLETED', 'FAILED', 'RETRIED']).describe('How the job ended.'),
    completedAt: Timestamp.describe('When the job was over, whether or not it has a result.'),
  })
  .meta({ id: 'PurgeableJob' });

export const PurgeableJobs = z
  .strictObject({ jobs: z.array(PurgeableJob).describe('The jobs, oldest first.'), total })
  .meta({ id: 'PurgeableJobs' });

export const PurgeQuery = z.strictObject({
  target: z
    .enum(['db', 'redis'])
    .optional()
    .describe('Purges only jobs, or only entries of the queue. Default: both.'),
  olderThan: AgeText.optional().describe(
    'The least age of what is removed. Default: `30d` for jobs, `7d` for entries of the queue.',
  ),
  dryRun: Flag.meta({ description: 'Counts what a purge would remove, and removes nothing.' }),
});

export const Purged = z
  .strictObject({
    target: z.enum(['db', 'redis', 'both']).describe('What was purged.'),
    olderThan: z
      .strictObject({
        db: z.string().nullable().describe('Least age of removed jobs; null if not purged.'),
        redis: z.string().nullable().describe('Least age of removed entries; null if not purged.'),
      })
      .meta({ id: 'PurgeAges' })
      .describe('The least ages.'),
    dryRun: z.boolean().describe('Whether nothing was removed.'),
    purged: z
      .strictObject({
        db: Count.describe('Jobs that were, or in a dry run would be, removed.'),
        redis: Count.describe('Entries of the queue that were, or would be, removed.'),
      })
      .meta({ id: 'PurgeCounts' })
      .describe('What was removed.'),
    jobs: z
      .array(PurgeableJob)
      .optional()
      .describe('In a dry run, the first hundred of the jobs that would be removed.'),
  })
  .meta({ id: 'PurgedJobs' });
