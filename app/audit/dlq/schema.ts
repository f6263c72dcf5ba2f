import { z } from 'zod';
import { Timestamp, Uuid } from '../../http/bodies/wire.ts';

/** A note by the operator. It becomes part of an audit entry, which cannot be changed later. */
function Note(maxLength: number) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line without control characters');
}

const By = Note(128).meta({ description: 'A note on who acted, in addition to the caller.' });

export const DeadEntryId = z.strictObject({ id: Uuid });

export const RetryManyQuery = z.strictObject({
  batchSize: z
    .string()
    .regex(/^[0-9]{1,3}$/, 'must be an integer from 1 to 200')
    .transform(Number)
    .pipe(z.number().min(1).max(200))
    .default(50),
});

export const RetryQuery = z.strictObject({ by: By.optional() });
export const AbandonQuery = z.strictObject({ reason: Note(512).optional(), by: By.optional() });

/**
 * Refuses a body with any member. The reason belongs in the query: a reason in the body would be
 * ignored, and the caller could not undo the action.
 */
export const NoBody = z.strictObject({}).optional();

export const Stats = z.strictObject({
  total: z.int().meta({ description: 'Entries that were ever in the queue.' }),
  pending: z.int().meta({ description: 'Entries that are still in the queue.' }),
  abandoned: z.int(),
  recovered: z.int(),
  oldestAt: Timestamp.nullable().meta({
    description: 'When the oldest pending entry entered the queue.',
  }),
  byReason: z
    .record(z.string(), z.int())
    .meta({ description: 'Number of pending entries for each reason of the last failure.' }),
});

export const Alerts = z.strictObject({
  alerts: z.array(
    z.strictObject({
      code: z.enum([
        'dead_letters',
        'dead_letter_old',
        'backlog_large',
        'backlog_old',
        'sealing_paused',
        'storage_full',
        'storage_low',
        'shared_client_address',
        'isolation_broken',
        'clock_skew',
      ]),
      severity: z.enum(['warning', 'critical']),
      message: z.string(),
      value: z.int().meta({
        description:
          'Number of entries for `dead_letters` and `backlog_large`, number of users for ' +
          '`shared_client_address`, free percentage for `storage_low`; otherwise seconds.',
      }),
      threshold: z.int(),
      since: Timestamp,
    }),
  ),
});

export const RetriedBatch = z.strictObject({
  processed: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  remaining: z.int().meta({ description: 'Entries that are still in the queue.' }),
});

export const RetriedEntry = z.strictObject({
  id: Uuid,
  status: z.enum(['RECOVERED', 'PENDING']),
  attempts: z.int().meta({ description: 'Number of failed attempts to seal the entry.' }),
  lastError: z.string().nullable(),
});

export const AbandonedEntry = z.strictObject({
  id: Uuid,
  status: z.literal('UNRECOVERABLE'),
  reason: z.string().nullable(),
  by: z.string().nullable(),
  at: Timestamp,
});
