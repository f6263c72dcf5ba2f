import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { createOutbox } from '../../../app/outbox/outbox.ts';
import { JobFailure } from '../../../app/jobs/types/job-failure.ts';
import { jobType } from '../../../app/jobs/types/job-type.ts';

const mostMs = 100;
const outbox = createOutbox({ onCommitted: () => undefined });

/**
 * Jobs that take a while, of which some attempts fail, and some for good. A completed job leaves
 * one message with its id in the outbox, which nobody carries out.
 */
export const trialWork = jobType({
  name: 'TRIAL',
  payload: z.unknown(),
  result: z.strictObject({ id: z.uuid() }),
  concurrency: 10,
  timeLimitSeconds: 10,
  maxAttempts: 8,
  erasesPayload: false,
  prepare: async (_request, payload) => payload,
  async run({ id, signal }) {
    await pause(Math.random() * mostMs, undefined, { signal });
    const luck = Math.random();
    if (luck < 0.03) throw new JobFailure('hopeless', { mayRetry: false });
    if (luck < 0.15) throw new JobFailure('away', { mayRetry: true });
    return {
      result: { id },
      async effects(tx) {
        await outbox.add(tx, 'multipart.abort', { key: id, uploadId: id });
        return [];
      },
    };
  },
});
