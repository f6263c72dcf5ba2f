import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import type { AuditEvent } from '../../audit-trail/event.ts';
import { tryLockName } from '../../db/advisory-lock.ts';
import { ofQueue, type Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Room } from '../tallies/room.ts';
import { endAbandoned, isAnyStored, takeFinished, type FinishedDownload } from './download-rows.ts';

export interface RecorderOptions {
  readonly db: Database;
  readonly audit: Pick<AuditTrail, 'appendAll' | 'assertWritable'>;
  readonly readRoom: Room;
}

const batchSize = 50;

/**
 * Appends the entries of downloads that have ended, in one process at a time. While the audit
 * backlog is full, they wait. With `endsAbandoned`, it first ends the downloads whose processes
 * have let their leases expire. Resolves with whether there may be more to record soon.
 */
export async function recordDownloads(
  { db, audit, readRoom }: RecorderOptions,
  { endsAbandoned }: { readonly endsAbandoned: boolean },
): Promise<boolean> {
  if (isBacklogFull(audit)) return true;
  let isAny = true;
  let recorded = batchSize;
  while (recorded === batchSize) {
    recorded = await db.asService(async (tx) => {
      isAny = await isAnyStored(tx);
      if (!isAny || !(await tryLockName(tx, 'downloads'))) return 0;
      if (endsAbandoned) await endAbandoned(tx);
      const room = Math.min(batchSize, await readRoom(tx));
      if (room <= 0) return 0;
      const finished = await takeFinished(tx, room);
      audit.appendAll(tx, finished.map(toEvent));
      return finished.length;
    }, ofQueue);
  }
  return isAny;
}

function isBacklogFull(audit: Pick<AuditTrail, 'assertWritable'>): boolean {
  try {
    audit.assertWritable();
    return false;
  } catch (error) {
    if (error instanceof AppError && error.code === 'audit_backlog_full') return true;
    throw error;
  }
}

function toEvent(finished: FinishedDownload): AuditEvent<'document.downloaded'> {
  const { version, jobId, fileHash, bytes, isComplete: complete, shareId } = finished;
  return {
    action: 'document.downloaded',
    actor: { type: 'user', id: finished.readerId },
    owner: finished.owner,
    resource: { type: 'document', id: finished.documentId },
    requestId: finished.requestId,
    data: {
      ...(version === null ? {} : { version }),
      ...(jobId === null ? {} : { jobId }),
      fileHash,
      bytes,
      complete,
      ...(shareId === null ? {} : { shareId }),
    },
  };
}
