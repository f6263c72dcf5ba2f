import type { Dlq } from '../../audit/dlq/dlq.ts';
import type { MaintenanceTask } from './task.ts';

const nothing = { retriedEntries: 0, recoveredEntries: 0 };

/** Creates the task that retries to sign each entry of the dead-letter queue, once per run. */
export function createRetryDeadLetters(
  dlq: Pick<Dlq, 'stats' | 'retryAll'>,
): MaintenanceTask<'retry-dlq', typeof nothing> {
  return {
    name: 'retry-dlq',
    nothing,
    async *batches(request, { dryRun }) {
      if (dryRun) {
        const { pending } = await dlq.stats(request);
        yield async () => ({ retriedEntries: pending });
        return;
      }
      // The queue commits its own transactions and appends its own audit entries, since the signer
      // is called between its transactions.
      for await (const { processed, succeeded } of dlq.retryAll(request)) {
        yield async () => ({ retriedEntries: processed, recoveredEntries: succeeded });
      }
    },
  };
}
