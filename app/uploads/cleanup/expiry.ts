import { sql } from 'kysely';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import type { Clock } from '../../async/clock.ts';
import type { Tx } from '../../db/database.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { usableMs } from '../sessions/limits.ts';
import { expiredEvent, expireOverdue, selectOverdue } from '../sessions/overdue.ts';
import type { SessionRow } from '../sessions/session-rows.ts';
import {
  countUnused,
  cutByParts,
  findUnused,
  removeUnused,
  type CompletedPlace,
} from './unused-uploads.ts';

/** The request that expires uploads, as the audit entries of the expired uploads name it. */
interface ExpiryCause {
  /** The name of the internal API key that sent the request. */
  readonly requestedBy: string;
  readonly requestId: string;
}

interface ExpiryCounts {
  readonly sessions: number;
  readonly files: number;
  readonly endedSessions: number;
}

export const expiryBatchSize = 100;
/** Milliseconds for which aborted and expired upload sessions are kept. */
const endedKeptMs = 7 * 86_400_000;

interface ExpiryOptions {
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly clock: Clock;
}

export type UploadExpiry = ReturnType<typeof createUploadExpiry>;

/**
 * Creates the service that expires and removes abandoned uploads. Each call handles one batch, in a
 * transaction of the service login. Skips upload sessions that another transaction has locked; a
 * later run checks these sessions again.
 */
export function createUploadExpiry({ audit, outbox, clock }: ExpiryOptions) {
  const ago = (ms: number) => new Date(clock().getTime() - ms);

  /** Appends one audit entry for each expired upload session. */
  async function record(tx: Tx, rows: readonly SessionRow[], cause: ExpiryCause): Promise<void> {
    const { requestedBy, requestId } = cause;
    const events = rows.map((row) => ({ ...expiredEvent(row, requestedBy), requestId }));
    audit.appendAll(tx, events);
  }

  return {
    /**
     * Expires open upload sessions whose time is over, except sessions that are being completed.
     * Resolves with the number of expired sessions; fewer than `expiryBatchSize` means that this
     * batch was the last.
     */
    async expireSessions(tx: Tx, cause: ExpiryCause): Promise<number> {
      const rows = await expireOverdue(tx, { outbox, now: clock(), limit: expiryBatchSize });
      await record(tx, rows, cause);
      return rows.length;
    },

    /**
     * Checks the next completed uploads after the position `after`. Removes each upload from which
     * no document was created within 24 hours, with its stored object. `next` is the position for
     * the next call; it is undefined after the last batch.
     */
    async removeFiles(
      tx: Tx,
      cause: ExpiryCause,
      after: CompletedPlace | undefined,
    ): Promise<{ readonly removed: number; readonly next: CompletedPlace | undefined }> {
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

    /**
     * Removes upload sessions that were aborted or expired at least 7 days ago: at most
     * `expiryBatchSize`, and fewer if they have many parts. Resolves with the number of removed
     * sessions; none means that no session is left.
     */
    async removeSessions(tx: Tx): Promise<number> {
      const found = await selectEnded(tx, ago(endedKeptMs))
        .select(['id', 'total_parts as totalParts'])
        .orderBy(endedAt)
        .limit(expiryBatchSize)
        .forUpdate()
        .skipLocked()
        .execute();
      const { numDeletedRows } = await tx
        .deleteFrom('upload_sessions')
        .where('id', '=', sql<string>`any(${cutByParts(found)}::uuid[])`)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },

    /**
     * Counts what all batches of `expireSessions`, `removeFiles` and `removeSessions` would handle.
     */
    count: async (tx: Tx): Promise<ExpiryCounts> => ({
      sessions: await countAll(selectOverdue(tx, clock())),
      files: await countUnused(tx, ago(usableMs)),
      endedSessions: await countAll(selectEnded(tx, ago(endedKeptMs))),
    }),
  };
}

/** The time since when a session has been aborted or over, as its index has it. */
const endedAt = sql<Date>`coalesce(aborted_at, expires_at)`;

/** Selects upload sessions that were aborted, or whose time was over, at the time `before`. */
function selectEnded(tx: Tx, before: Date) {
  return tx
    .selectFrom('upload_sessions')
    .where(sql<boolean>`status in ('ABORTED', 'EXPIRED')`)
    .where(endedAt, '<=', before);
}

async function countAll(query: ReturnType<typeof selectOverdue>): Promise<number> {
  const { count } = await query
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}
