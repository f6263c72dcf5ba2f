import type { CompletedPlace } from '../uploads/upkeep/unused-uploads.ts';
import { expiryBatchSize, type UploadExpiry } from '../uploads/upkeep/expiry.ts';
import { whileFull, type Batch, type MaintenanceTask, type RunRequest } from './task.ts';

const nothing = { expiredSessions: 0, removedFiles: 0, removedSessions: 0 };

type Expired = typeof nothing;

/** Ends sessions past their end and files that became no document, and forgets sessions ended long ago. */
export function createExpireUploads(
  expiry: UploadExpiry,
): MaintenanceTask<'expire-uploads', Expired> {
  async function* removeFiles(request: RunRequest): AsyncGenerator<Batch<Expired>> {
    let place: CompletedPlace | undefined;
    for (;;) {
      yield async (tx) => {
        const { removed, next } = await expiry.removeFiles(tx, request, place);
        place = next;
        return { removedFiles: removed };
      };
      if (place === undefined) return;
    }
  }

  return {
    name: 'expire-uploads',
    nothing,
    async *batches(request) {
      if (request.dryRun) {
        yield async (tx) => {
          const { sessions, files, endedSessions } = await expiry.count(tx);
          return {
            expiredSessions: sessions,
            removedFiles: files,
            removedSessions: endedSessions,
          };
        };
        return;
      }
      yield* whileFull(expiryBatchSize, async (tx) => ({
        expiredSessions: await expiry.expireSessions(tx, request),
      }));
      yield* removeFiles(request);
      yield* whileFull(expiryBatchSize, async (tx) => ({
        removedSessions: await expiry.removeSessions(tx),
      }));
    },
  };
}
