import { sql } from 'kysely';
import type { z } from 'zod';
import { byOwner } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';
import type { FileHashes } from './file-hashes.ts';
import { forgetLostParts } from './lost-parts.ts';
import { assertWhole, loadParts, type PartRow } from '../parts/recorded-parts.ts';
import type { CompletedUpload } from '../sessions/schema.ts';
import {
  closedIfGone,
  lockOpenSession,
  lockSession,
  type SessionRow,
} from '../sessions/session-rows.ts';

/** One request at a time assembles; the lease lets another try if its process dies over it. */
const leaseSeconds = 120;

export interface Completion {
  /**
   * Assembles the object, exactly once, and starts hashing it in the background. Throws not_found,
   * session_expired, session_closed, completion_in_progress or invalid_parts, whose details name
   * the parts to send.
   */
  complete(
    caller: Caller,
    sessionId: string,
    requestId: string,
  ): Promise<z.input<typeof CompletedUpload>>;
}

interface CompletionOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly store: ObjectStore;
  readonly hashes: FileHashes;
  readonly clock: Clock;
}

export function createCompletion(options: CompletionOptions): Completion {
  const { db, audit, store, hashes, clock } = options;

  /** Checks the parts and takes the lease. */
  function begin(caller: Caller, sessionId: string) {
    return db.asUser(caller, async (tx) => {
      const session = await lockOpenSession(tx, sessionId, clock());
      const parts = await loadParts(tx, sessionId);
      assertWhole(session, parts);
      await tx
        .updateTable('upload_sessions')
        .set({ completing_until: sql<Date>`now() + make_interval(secs => ${leaseSeconds})` })
        .where('id', '=', sessionId)
        .execute();
      return { session, parts };
    });
  }

  function finish(caller: Caller, session: SessionRow, version: string, requestId: string) {
    return db.asUser(caller, async (tx) => {
      const { status } = await lockSession(tx, session.id);
      if (status !== 'IN_PROGRESS') throw new AppError('session_closed');
      const completedAt = clock();
      await tx
        .updateTable('upload_sessions')
        .set({
          status: 'COMPLETED',
          completed_at: completedAt,
          completing_until: null,
          object_version: version,
        })
        .where('id', '=', session.id)
        .execute();
      await audit.append(tx, {
        action: 'upload.completed',
        ...byOwner(caller, requestId),
        resource: { type: 'upload', id: session.id },
        data: { fileSize: session.file_size, totalParts: session.total_parts },
      });
      return completedAt;
    });
  }

  async function release(caller: Caller, sessionId: string): Promise<void> {
    await db.asUser(caller, (tx) =>
      tx
        .updateTable('upload_sessions')
        .set({ completing_until: null })
        .where('id', '=', sessionId)
        .execute(),
    );
  }

  async function explain(
    caller: Caller,
    session: SessionRow,
    parts: readonly PartRow[],
    error: unknown,
  ): Promise<unknown> {
    const isRefused = error instanceof StorageError && error.code === 'part_mismatch';
    if (!isRefused) return closedIfGone(error);
    return forgetLostParts({ db, store }, caller, session, parts, error);
  }

  return {
    async complete(caller, sessionId, requestId) {
      audit.assertWritable();
      const { session, parts } = await begin(caller, sessionId);
      const { storage_key: key, storage_upload_id: uploadId, file_size: size } = session;
      try {
        const { version } = await store.completeMultipart(key, uploadId, parts);
        const completedAt = await finish(caller, session, version, requestId);
        hashes.start(caller, { id: sessionId, key, version, size });
        return { sessionId, fileKey: key, fileSize: size, completedAt };
      } catch (error) {
        const failure = await explain(caller, session, parts, error).catch(closedIfGone);
        await release(caller, sessionId).catch(() => undefined);
        throw failure;
      }
    },
  };
}
