import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { v7 as uuidv7 } from 'uuid';
import type { Clock } from '../../async/clock.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { ErrorCode } from '../../errors/error-codes.ts';
import { describeSent } from '../../http/bodies/content-type.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { Plans } from '../../plans/plans.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { backlogChecked, type Act, type Acted } from '../../audit-trail/act.ts';
import { assertRoom } from '../../usage/room.ts';
import { maxFileSize, partCounts } from './limits.ts';
import { expiredEvent, expireOverdue } from './overdue.ts';
import type { AbortedUpload, CreatedUpload, CreateUpload, UploadProgress } from './schema.ts';
import {
  assertNotCompleting,
  assertNotExpired,
  countParts,
  loadSession,
  lockSession,
} from './session-rows.ts';

type File = z.output<typeof CreateUpload>;

/** The maximum number of a caller's overdue uploads to expire for another upload. */
const ownBatchSize = 100;

interface UploadSessionsOptions {
  readonly db: Database;
  readonly act: Act;
  readonly outbox: Outbox;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly plans: Plans;
  readonly sessionTtlSeconds: number;
  readonly allowedMimeTypes: readonly string[];
}

export type UploadSessions = ReturnType<typeof createUploadSessions>;

/** Creates the service that opens, shows and aborts upload sessions. */
export function createUploadSessions(options: UploadSessionsOptions) {
  const { db, act, outbox, store, clock } = options;

  function assertAcceptable(file: File): void {
    const { allowedMimeTypes } = options;
    if (!allowedMimeTypes.includes(file.mimeType)) {
      const allowed = `one of ${allowedMimeTypes.join(', ')}`;
      throw refusal('mime_type_not_allowed', 'mimeType', allowed, describeSent(file.mimeType));
    }
    const { fileSize, totalParts } = file;
    if (fileSize > maxFileSize) {
      const allowed = `at most ${maxFileSize} bytes`;
      throw refusal('file_too_large', 'fileSize', allowed, `${fileSize} came`);
    }
    const { fewest, most } = partCounts(fileSize);
    if (totalParts < fewest || totalParts > most) {
      const allowed = `from ${fewest} to ${most} for ${fileSize} bytes`;
      throw refusal('invalid_total_parts', 'totalParts', allowed, `${totalParts} came`);
    }
  }

  /**
   * Throws quota_exceeded if the caller has no room for another upload, even after the caller's
   * overdue uploads have expired. The commit that opens the upload decides.
   */
  async function makeRoom(request: ServiceRequest, file: File): Promise<void> {
    const { caller } = request;
    const { limits } = options.plans(caller.plan);
    const added = {
      openUploads: 1,
      storageBytes: file.fileSize,
      uploads: 1,
      uploadParts: file.totalParts,
    };
    const check = () => db.asUser(caller, (tx) => assertRoom(tx, caller, limits, added));
    try {
      await check();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'quota_exceeded') throw error;
      // The Idempotency-Key is for the response of the upload.
      const apart = { ...request, idempotency: undefined };
      const expired = await act(apart, (tx) => expireOwn(tx, outbox, clock()));
      if (expired === 0) throw error;
      await check();
    }
  }

  /**
   * Opens a multipart upload in the object store, and calls `insert` to record the upload session.
   */
  async function openUpload<T>(
    storageKey: string,
    insert: (uploadId: string) => Promise<T>,
  ): Promise<T> {
    const uploadId = await store.createMultipart(storageKey);
    try {
      return await insert(uploadId);
    } catch (error) {
      // Keep the multipart upload if its upload session may have been stored; otherwise, abort it.
      if (!mayBeStored(error)) {
        await store.abortMultipart(storageKey, uploadId).catch(() => undefined);
      }
      throw error;
    }
  }

  return {
    /**
     * Opens an upload session. Throws mime_type_not_allowed, file_too_large, invalid_total_parts or
     * quota_exceeded.
     */
    async create(request: ServiceRequest, file: File): Promise<z.input<typeof CreatedUpload>> {
      const { caller } = request;
      assertAcceptable(file);
      act.assertWritable(request);
      await makeRoom(request, file);

      const id = uuidv7();
      const storageKey = `${randomUUID()}/${file.fileName}`;
      return openUpload(storageKey, (uploadId) =>
        act(
          request,
          async (tx) => {
            const expiresAt = new Date(clock().getTime() + options.sessionTtlSeconds * 1000);
            return insertSession(tx, caller, file, { id, storageKey, uploadId, expiresAt });
          },
          backlogChecked,
        ),
      );
    },

    /** Returns the progress of an upload. Throws not_found or session_expired. */
    progress: (
      { caller }: ServiceRequest,
      sessionId: string,
    ): Promise<z.input<typeof UploadProgress>> =>
      db.asUser(caller, async (tx) => {
        const session = await loadSession(tx, caller, sessionId);
        assertNotExpired(session, clock());
        return {
          sessionId,
          status: session.status,
          ...(await countParts(tx, caller, sessionId)),
          totalParts: session.total_parts,
          totalBytes: session.file_size,
          expiresAt: session.expires_at,
          ...(session.status === 'COMPLETED' ? { fileKey: session.storage_key } : {}),
        };
      }),

    /**
     * Aborts an upload. A repeated call returns the same response. Throws not_found,
     * session_completed or completion_in_progress.
     */
    abort: (request: ServiceRequest, sessionId: string): Promise<z.input<typeof AbortedUpload>> =>
      act(request, (tx) => abortSession(tx, outbox, request.caller, sessionId, clock)),
  };
}

/** Returns the error for a field of a new upload session that must have another value. */
function refusal(code: ErrorCode, path: string, allowed: string, came: string): AppError {
  return new AppError(code, { details: [{ path, message: `must be ${allowed}; ${came}` }] });
}

/** Expires the caller's overdue uploads. Resolves with their number. */
async function expireOwn(tx: Tx, outbox: Outbox, now: Date): Promise<Acted<number>> {
  const rows = await expireOverdue(tx, { outbox, now, limit: ownBatchSize });
  return { answer: rows.length, events: rows.map((row) => expiredEvent(row, null)) };
}

interface OpenedUpload {
  readonly id: string;
  readonly storageKey: string;
  readonly uploadId: string;
  readonly expiresAt: Date;
}

async function insertSession(
  tx: Tx,
  { userId, tenantId }: Owner,
  { fileName, fileSize, mimeType, totalParts }: File,
  { id, storageKey, uploadId, expiresAt }: OpenedUpload,
): Promise<Acted<z.input<typeof CreatedUpload>>> {
  await tx
    .insertInto('upload_sessions')
    .values({
      id,
      user_id: userId,
      tenant_id: tenantId,
      file_name: fileName,
      file_size: fileSize,
      mime_type: mimeType,
      total_parts: totalParts,
      storage_key: storageKey,
      storage_upload_id: uploadId,
      expires_at: expiresAt,
    })
    .execute();
  const created = {
    action: 'upload.created',
    resource: { type: 'upload', id },
    data: { fileSize, totalParts },
  } as const;
  return { answer: { sessionId: id, uploadId, expiresAt }, events: [created] };
}

async function abortSession(
  tx: Tx,
  outbox: Outbox,
  owner: Owner,
  sessionId: string,
  clock: Clock,
): Promise<Acted<z.input<typeof AbortedUpload>>> {
  const session = await lockSession(tx, owner, sessionId);
  if (session.status === 'COMPLETED') throw new AppError('session_completed');
  const toAnswer = (abortedAt: Date) => ({ sessionId, status: 'ABORTED' as const, abortedAt });
  if (session.aborted_at !== null) return { answer: toAnswer(session.aborted_at), events: [] };
  const now = clock();
  assertNotCompleting(session);
  await tx
    .updateTable('upload_sessions')
    .set({ status: 'ABORTED', aborted_at: now })
    .where('id', '=', sessionId)
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .execute();
  await outbox.add(tx, 'multipart.abort', {
    key: session.storage_key,
    uploadId: session.storage_upload_id,
  });
  const resource = { type: 'upload', id: sessionId } as const;
  return { answer: toAnswer(now), events: [{ action: 'upload.aborted', resource, data: {} }] };
}

/**
 * Returns whether a transaction that failed with `error` may have been committed, with only the
 * database's reply lost.
 */
function mayBeStored(error: unknown): boolean {
  return error instanceof AppError && error.code === 'database_unavailable';
}
