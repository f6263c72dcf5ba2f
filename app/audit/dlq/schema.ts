import { z } from 'zod';
import { describedAs, IntegerText, Timestamp, Uuid } from '../../http/bodies/wire.ts';

/** A note by the operator. It becomes part of an audit entry, which cannot be changed later. */
function Note(maxLength: number) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .refine(
      (text) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text),
      'must be one line without control characters',
    );
}

const By = Note(128)
  .optional()
  .describe('A note on who acted, in addition to the caller: one line.');

export const DeadEntryId = z.strictObject({ id: Uuid.describe('Id of a dead entry.') });

export const RetryManyQuery = z.strictObject({
  batchSize: IntegerText(1, 200)
    .default(50)
    .meta({
      description: 'Maximum number of entries to retry.',
      ...describedAs({ type: 'integer', minimum: 1, maximum: 200, default: 50 }),
    }),
});

export const RetryQuery = z.strictObject({ by: By });
export const AbandonQuery = z.strictObject({
  reason: Note(512).optional().describe('Why the entry is abandoned: one line.'),
  by: By,
});

/**
 * Refuses a body with any member. The reason belongs in the query: a reason in the body would be
 * ignored, and the caller could not undo the action.
 */
export const NoBody = z.strictObject({}).meta({ id: 'EmptyObject' }).optional();

export const Stats = z
  .strictObject({
    total: z.int().min(0).describe('Entries that were ever in the queue.'),
    pending: z.int().min(0).describe('Entries that are still in the queue.'),
    abandoned: z.int().min(0).describe('Entries that were abandoned.'),
    recovered: z.int().min(0).describe('Entries that were signed after all.'),
    oldestAt: Timestamp.nullable().describe('When the oldest pending entry entered the queue.'),
    byReason: z
      .record(z.string(), z.int().min(0))
      .describe('Number of pending entries for each reason of the last failure.'),
  })
  .meta({ id: 'DeadLetterStatistics' });

const Alert = z
  .strictObject({
    code: z
      .enum([
        'dead_letters',
        'dead_letter_old',
        'backlog_large',
        'backlog_old',
        'sealing_paused',
        'storage_full',
        'storage_low',
        'files_damaged',
        'files_unreadable',
        'log_damaged',
        'partitions_few',
        'shared_client_address',
        'isolation_broken',
        'clock_skew',
      ])
      .describe('What is wrong; see docs/operations.md.'),
    severity: z.enum(['warning', 'critical']).describe('How urgent it is.'),
    message: z.string().describe('What is wrong, as a sentence for people.'),
    value: z
      .int()
      .describe(
        'Number of entries for `dead_letters`, `backlog_large` and `log_damaged`, of files for ' +
          '`files_damaged` and `files_unreadable`, of users for `shared_client_address`, of ' +
          'months for `partitions_few`, free percentage for `storage_low`; otherwise seconds.',
      ),
    threshold: z.int().describe('Value from which the alert is raised.'),
    since: Timestamp.describe('When this process first saw it.'),
  })
  .meta({ id: 'Alert' });

export const Alerts = z
  .strictObject({ alerts: z.array(Alert).describe('Alerts whose thresholds are reached now.') })
  .meta({ id: 'Alerts' });

export const RetriedBatch = z
  .strictObject({
    processed: z.int().min(0).describe('Entries that were tried.'),
    succeeded: z.int().min(0).describe('Entries that were signed.'),
    failed: z.int().min(0).describe('Entries that failed again.'),
    remaining: z.int().min(0).describe('Entries that are still in the queue.'),
  })
  .meta({ id: 'RetriedBatch' });

export const RetriedEntry = z
  .strictObject({
    id: Uuid.describe('Id of the entry.'),
    status: z.enum(['RECOVERED', 'PENDING']).describe('`RECOVERED` if it is signed now.'),
    attempts: z.int().min(0).describe('Number of failed attempts to seal the entry.'),
    lastError: z.string().nullable().describe('Code of the last failure.'),
  })
  .meta({ id: 'RetriedEntry' });

export const AbandonedEntry = z
  .strictObject({
    id: Uuid.describe('Id of the entry.'),
    status: z.literal('UNRECOVERABLE').describe('The entry will never be signed.'),
    reason: z.string().nullable().describe('The reason that the request gave.'),
    by: z.string().nullable().describe('The note on who acted.'),
    at: Timestamp.describe('When the entry was abandoned.'),
  })
  .meta({ id: 'AbandonedEntry' });
