import type { RawBuilder } from 'kysely';
import type { z } from 'zod';
import type { Clock } from '../../async/clock.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import { keepLease, type KeptLease } from '../../db/leases/keep-lease.ts';
import { leaseEnd } from '../../db/leases/lease.ts';
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
    const { session, parts, until } = await db.asUser(caller, (tx) =>
      begin(tx, caller, sessionId, clock()),
    );
    const lease = keepAssembling(db, caller, sessionId, until);
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
      await lease.release();
      throw failure;
    } finally {
      lease.stop();
    }
  }

  return { complete };
}

/** Checks that all parts have arrived, and takes the lease to assemble the parts. */
async function begin(tx: Tx, owner: Owner, sessionId: string, now: Date) {
  const session = await lockOpenSession(tx, owner, sessionId, now);
  const parts = await loadParts(tx, owner, sessionId);
  assertWhole(session, parts);
  const until = await setLease(tx, owner, { sessionId, held: session.completing_until });
  if (until === undefined) throw new TypeError('the lease of a locked session changed');
  return { session, parts, until };
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

/** Keeps the lease to assemble the parts of an upload. */
function keepAssembling(db: Database, owner: Owner, sessionId: string, until: Date): KeptLease {
  let held = until;
  return keepLease({
    async renew() {
      const next = await db.asUser(owner, (tx) => setLease(tx, owner, { sessionId, held }));
      held = next ?? held;
      return next !== undefined;
    },
    release: () =>
      db.asUser(owner, (tx) => ofLease(tx, owner, { sessionId, held }, null).execute()),
  });
}

/**
 * The end of a lease is its fencing token: a later lease begins after it, and so ends later. It is
 * null if there was none.
 */
interface Assembling {
  readonly sessionId: string;
  readonly held: Date | null;
}

/**
 * Sets a new end of the lease, and resolves with it; undefined if another request took the lease.
 */
async function setLease(tx: Tx, owner: Owner, lease: Assembling): Promise<Date | undefined> {
  const row = await ofLease(tx, owner, lease, leaseEnd())
    .returning('completing_until')
    .executeTakeFirst();
  return row?.completing_until ?? undefined;
}

function ofLease(
  tx: Tx,
  { userId, tenantId }: Owner,
  { sessionId, held }: Assembling,
  completing_until: RawBuilder<Date> | null,
) {
  return tx
    .updateTable('upload_sessions')
    .set({ completing_until })
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('status', '=', 'IN_PROGRESS')
    .where('completing_until', 'is not distinct from', held);
}
