import type { Tx } from '../../db/database.ts';
import type { CompletedPlace } from '../../uploads/cleanup/unused-uploads.ts';
import { expiryBatchSize, type UploadExpiry } from '../../uploads/cleanup/expiry.ts';
import { whileFull, type Batch, type MaintenanceTask } from './task.ts';

const nothing = { expiredSessions: 0, removedFiles: 0, removedSessions: 0 };

type Expired = typeof nothing;
type ExpiryCause = Parameters<UploadExpiry['expireSessions']>[1];

/**
 * Creates the task that expires overdue upload sessions, removes completed files from which no
 * document was created in time, and removes upload sessions that were aborted or expired at least 7
 * days ago.
 */
export function createExpireUploads(
  expiry: UploadExpiry,
): MaintenanceTask<'expire-uploads', Expired> {
  async function* removeFiles(cause: ExpiryCause): AsyncGenerator<Batch<Expired>> {
    let place: CompletedPlace | undefined;
    for (;;) {
      yield async (tx) => {
        const { removed, next } = await expiry.removeFiles(tx, cause, place);
        place = next;
        return { removedFiles: removed };
      };
      if (place === undefined) return;
    }
  }

  async function count(tx: Tx): Promise<Expired> {
    const { sessions, files, endedSessions } = await expiry.count(tx);
    return { expiredSessions: sessions, removedFiles: files, removedSessions: endedSessions };
  }

  return {
    name: 'expire-uploads',
    nothing,
    async *batches({ caller, requestId }, { dryRun }) {
      if (dryRun) {
        yield count;
        return;
      }
      const cause = { requestedBy: caller.internalKey, requestId };
      yield* whileFull(expiryBatchSize, async (tx) => ({
        expiredSessions: await expiry.expireSessions(tx, cause),
      }));
      yield* removeFiles(cause);
      yield* whileFull(1, async (tx) => ({
        removedSessions: await expiry.removeSessions(tx),
      }));
    },
  };
}
