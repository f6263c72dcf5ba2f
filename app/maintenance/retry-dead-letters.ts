import type { Dlq } from '../audit/dlq/dlq.ts';
import type { MaintenanceTask } from './task.ts';

const nothing = { retriedEntries: 0, recoveredEntries: 0 };

/** Has the entries in the dead-letter queue signed again, each once a run. */
export function createRetryDeadLetters(
  dlq: Pick<Dlq, 'stats' | 'retryAll'>,
): MaintenanceTask<'retry-dlq', typeof nothing> {
  return {
    name: 'retry-dlq',
    nothing,
    async *batches({ dryRun, requestedBy, requestId }) {
      if (dryRun) {
        const { pending } = await dlq.stats();
        yield async () => ({ retriedEntries: pending });
        return;
      }
      const operator = { actor: { type: 'system', id: requestedBy }, requestId, by: null } as const;
      // In transactions and with entries of their own, since the signer is asked in between.
      for await (const { processed, succeeded } of dlq.retryAll(operator)) {
        yield async () => ({ retriedEntries: processed, recoveredEntries: succeeded });
      }
    },
  };
}
