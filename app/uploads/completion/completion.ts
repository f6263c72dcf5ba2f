import { sql } from 'kysely';
import type { z } from 'zod';
import type { Clock } from '../../async/clock.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';
import { backlogChecked, type Act, type Acted } from '../../audit-trail/act.ts';
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

/**
 * Seconds after which another request may assemble the file if the first request's process died.
 */
const leaseSeconds = 120;

interface CompletionOptions {
  readonly db: Database;
  readonly act: Act;
  readonly store: ObjectStore;
  readonly hashes: FileHashes;
  readonly clock: Clock;
}

export type Completion = ReturnType<typeof createCompletion>;

/** Creates the service that assembles the parts of an upload. */
export function createCompletion({ db, act, store, hashes, clock }: CompletionOptions) {
  /**
   * Returns the error to report to the client after the object store failed to complete an upload.
   */
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

  /**
   * Assembles the parts of an upload to one stored object, exactly once, and starts to hash the
   * object in the background. Throws not_found, session_expired, session_closed,
   * completion_in_progress, parts_cannot_fit, or invalid_parts, whose details name the parts that
   * the client must send.
   */
  async function complete(
    request: ServiceRequest,
    sessionId: string,
  ): Promise<z.input<typeof CompletedUpload>> {
    const { caller } = request;
    act.assertWritable(request);
    const { session, parts } = await db.asUser(caller, (tx) =>
      begin(tx, caller, sessionId, clock()),
    );
    const { storage_key: key, storage_upload_id: uploadId, file_size: size } = session;
    try {
      const { version } = await store.completeMultipart(key, uploadId, parts);
      // An assembled object is recorded even if the audit backlog has become full meanwhile.
      const completedAt = await act(
        request,
        (tx) => recordCompletion(tx, session, version, clock),
        backlogChecked,
      );
      hashes.start(caller, { id: sessionId, key, version, size });
      return { sessionId, fileKey: key, fileSize: size, completedAt };
    } catch (error) {
      const failure = await explain(caller, session, parts, error).catch(closedIfGone);
      await db.asUser(caller, (tx) => release(tx, caller, sessionId)).catch(() => undefined);
      throw failure;
    }
  }

  return { complete };
}

/** Checks that all parts have arrived, and acquires the lease to assemble the parts. */
async function begin(tx: Tx, owner: Owner, sessionId: string, now: Date) {
  const session = await lockOpenSession(tx, owner, sessionId, now);
  const parts = await loadParts(tx, owner, sessionId);
  assertWhole(session, parts);
  await tx
    .updateTable('upload_sessions')
    .set({ completing_until: sql<Date>`now() + make_interval(secs => ${leaseSeconds})` })
    .where('id', '=', sessionId)
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .execute();
  return { session, parts };
}

async function recordCompletion(
  tx: Tx,
  session: SessionRow,
  version: string,
  clock: Clock,
): Promise<Acted<Date>> {
  const { user_id: userId, tenant_id: tenantId } = session;
  const { status } = await lockSession(tx, { userId, tenantId }, session.id);
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
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .execute();
  const completed = {
    action: 'upload.completed',
    resource: { type: 'upload', id: session.id },
    data: { fileSize: session.file_size, totalParts: session.total_parts },
  } as const;
  return { answer: completedAt, events: [completed] };
}

async function release(tx: Tx, { userId, tenantId }: Owner, sessionId: string): Promise<void> {
  await tx
    .updateTable('upload_sessions')
    .set({ completing_until: null })
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .execute();
}
