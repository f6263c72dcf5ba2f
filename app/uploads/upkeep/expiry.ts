import type { AuditTrail } from '../../trail/trail.ts';
import type { Clock } from '../../async/clock.ts';
import type { Tx } from '../../db/database.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { usableMs } from '../sessions/limits.ts';
import type { SessionRow } from '../sessions/session-rows.ts';
import { countUnused, findUnused, removeUnused, type CompletedPlace } from './unused-uploads.ts';

/** Who lets uploads expire, for their entries. */
interface ExpiryCause {
  /** The name of the internal API key. */
  readonly requestedBy: string;
  readonly requestId: string;
}

/**
 * The end of uploads that nobody went on with, a batch a call, each in the service's transaction.
 * Sessions that somebody else has locked are passed over; a later run looks again.
 */
export interface UploadExpiry {
  /**
   * Lets open sessions past their end expire, unless they are just being completed. Answers how many:
   * fewer than a batch when there are no more.
   */
  expireSessions(tx: Tx, cause: ExpiryCause): Promise<number>;
  /**
   * Removes completed uploads, with their objects, that became no document in time: of the next ones
   * after a place. `next` is undefined at the end.
   */
  removeFiles(
    tx: Tx,
    cause: ExpiryCause,
    after: CompletedPlace | undefined,
  ): Promise<{ removed: number; next: CompletedPlace | undefined }>;
  /** Removes sessions that ended long ago without a file. Answers as expireSessions does. */
  removeSessions(tx: Tx): Promise<number>;
  /** What all of them would find. */
  count(tx: Tx): Promise<{ sessions: number; files: number; endedSessions: number }>;
}

export const expiryBatchSize = 100;
/** Of sessions that were aborted or have expired. */
const endedKeptMs = 7 * 86_400_000;

interface ExpiryOptions {
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly clock: Clock;
}

export function createUploadExpiry({ audit, outbox, clock }: ExpiryOptions): UploadExpiry {
  const ago = (ms: number) => new Date(clock().getTime() - ms);

  /** One entry a session, sorted as the sequences of entries are locked. */
  async function record(tx: Tx, rows: readonly SessionRow[], cause: ExpiryCause): Promise<void> {
    for (const row of rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      await audit.append(tx, {
        action: 'upload.expired',
        actor: { type: 'system', id: cause.requestedBy },
        owner: { userId: row.user_id, tenantId: row.tenant_id },
        resource: { type: 'upload', id: row.id },
        requestId: cause.requestId,
        data: { fileSize: row.file_size, wasCompleted: row.completed_at !== null },
      });
    }
  }

  return {
    async expireSessions(tx, cause) {
      const rows = await tx
        .updateTable('upload_sessions')
        .set({ status: 'EXPIRED', completing_until: null })
        .where('id', 'in', () =>
          selectOverdue(tx, clock())
            .select('id')
            .orderBy('expires_at')
            .limit(expiryBatchSize)
            .forUpdate()
            .skipLocked(),
        )
        .returningAll()
        .execute();
      const uploads = rows.map((row) => ({
        key: row.storage_key,
        uploadId: row.storage_upload_id,
      }));
      await outbox.addAll(tx, 'multipart.abort', uploads);
      await record(tx, rows, cause);
      return rows.length;
    },

    async removeFiles(tx, cause, after) {
      const { ids, next } = await findUnused(tx, ago(usableMs), { after, limit: expiryBatchSize });
      const rows = await removeUnused(tx, ids);
      const objects = rows.map(({ storage_key: key, object_version: version }) => ({
        key,
        version: version ?? '',
      }));
      await outbox.addAll(tx, 'object.delete', objects);
      await record(tx, rows, cause);
      return { removed: rows.length, next };
    },

    async removeSessions(tx) {
      const { numDeletedRows } = await tx
        .deleteFrom('upload_sessions')
        .where('id', 'in', () =>
          selectEnded(tx, ago(endedKeptMs))
            .select('id')
            .limit(expiryBatchSize)
            .forUpdate()
            .skipLocked(),
        )
        .executeTakeFirst();
      return Number(numDeletedRows);
    },

    count: async (tx) => ({
      sessions: await countAll(selectOverdue(tx, clock())),
      files: await countUnused(tx, ago(usableMs)),
      endedSessions: await countAll(selectEnded(tx, ago(endedKeptMs))),
    }),
  };
}

/** Past their end, and not just being completed. */
function selectOverdue(tx: Tx, now: Date) {
  return tx
    .selectFrom('upload_sessions')
    .where('status', '=', 'IN_PROGRESS')
    .where('expires_at', '<=', now)
    .where(({ eb, or }) =>
      or([eb('completing_until', 'is', null), eb('completing_until', '<=', now)]),
    );
}

/** Aborted, or else expired, by `before`. */
function selectEnded(tx: Tx, before: Date) {
  return tx
    .selectFrom('upload_sessions')
    .where('status', 'in', ['ABORTED', 'EXPIRED'])
    .where(({ fn }) => fn.coalesce('aborted_at', 'expires_at'), '<=', before);
}

async function countAll(query: ReturnType<typeof selectOverdue>): Promise<number> {
  const { count } = await query
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}
