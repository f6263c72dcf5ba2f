import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { v7 as uuidv7 } from 'uuid';
import { byOwner } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { Idempotency } from '../../http/routing/idempotency.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { maxFileSize, partsFit } from './limits.ts';
import { assertQuota, type Plan } from './quota.ts';
import type { AbortedUpload, CreatedUpload, CreateUpload, UploadProgress } from './schema.ts';
import {
  assertNotCompleting,
  assertNotExpired,
  countParts,
  loadSession,
  lockSession,
} from './session-rows.ts';

type Created = z.input<typeof CreatedUpload>;

/** The life of an upload session but for its parts and completion. */
export interface UploadSessions {
  /** Throws mime_type_not_allowed, file_too_large, invalid_total_parts or quota_exceeded. */
  create(
    caller: Caller,
    file: z.output<typeof CreateUpload>,
    requestId: string,
    idempotency?: Idempotency<Created>,
  ): Promise<Created>;
  /** Throws not_found or session_expired. */
  progress(caller: Caller, sessionId: string): Promise<z.input<typeof UploadProgress>>;
  /**
   * Aborting again gives the same answer.
   * Throws not_found, session_completed or completion_in_progress.
   */
  abort(
    caller: Caller,
    sessionId: string,
    requestId: string,
  ): Promise<z.input<typeof AbortedUpload>>;
}

interface UploadSessionsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly plan: (name: string) => Plan;
  readonly sessionTtlSeconds: number;
  readonly allowedMimeTypes: readonly string[];
}

export function createUploadSessions(options: UploadSessionsOptions): UploadSessions {
  const { db, audit, outbox, store, clock } = options;

  function assertAcceptable(file: z.output<typeof CreateUpload>): void {
    if (!options.allowedMimeTypes.includes(file.mimeType)) {
      throw new AppError('mime_type_not_allowed');
    }
    if (file.fileSize > maxFileSize) throw new AppError('file_too_large');
    if (!partsFit(file.fileSize, file.totalParts)) throw new AppError('invalid_total_parts');
  }

  return {
    async create(caller, file, requestId, idempotency) {
      assertAcceptable(file);
      audit.assertWritable();
      const plan = options.plan(caller.plan);
      await db.asUser(caller, (tx) => assertQuota(tx, caller, plan, file.fileSize));

      const id = uuidv7();
      const storageKey = `${randomUUID()}/${file.fileName}`;
      const uploadId = await store.createMultipart(storageKey);
      const expiresAt = new Date(clock().getTime() + options.sessionTtlSeconds * 1000);
      const created = { sessionId: id, uploadId, expiresAt };
      try {
        await db.asUser(caller, async (tx) => {
          await assertQuota(tx, caller, plan, file.fileSize);
          await tx
            .insertInto('upload_sessions')
            .values({
              id,
              user_id: caller.userId,
              tenant_id: caller.tenantId,
              file_name: file.fileName,
              file_size: file.fileSize,
              mime_type: file.mimeType,
              total_parts: file.totalParts,
              storage_key: storageKey,
              storage_upload_id: uploadId,
              expires_at: expiresAt,
            })
            .execute();
          await idempotency?.keep(tx, created);
          await audit.append(tx, {
            action: 'upload.created',
            ...byOwner(caller, requestId),
            resource: { type: 'upload', id },
            data: { fileSize: file.fileSize, totalParts: file.totalParts },
          });
        });
      } catch (error) {
        // A session that is there all the same needs its upload; one that no session has is garbage.
        if (!mayBeStored(error)) {
          await store.abortMultipart(storageKey, uploadId).catch(() => undefined);
        }
        throw error;
      }
      return created;
    },

    progress: (caller, sessionId) =>
      db.asUser(caller, async (tx) => {
        const session = await loadSession(tx, sessionId);
        assertNotExpired(session, clock());
        return {
          sessionId,
          status: session.status,
          ...(await countParts(tx, sessionId)),
          totalParts: session.total_parts,
          totalBytes: session.file_size,
          expiresAt: session.expires_at,
          ...(session.status === 'COMPLETED' ? { fileKey: session.storage_key } : {}),
        };
      }),

    async abort(caller, sessionId, requestId) {
      audit.assertWritable();
      return db.asUser(caller, async (tx) => {
        const session = await lockSession(tx, sessionId);
        if (session.status === 'COMPLETED') throw new AppError('session_completed');
        if (session.aborted_at !== null) {
          return { sessionId, status: 'ABORTED' as const, abortedAt: session.aborted_at };
        }
        const abortedAt = clock();
        assertNotCompleting(session, abortedAt);
        await tx
          .updateTable('upload_sessions')
          .set({ status: 'ABORTED', aborted_at: abortedAt })
          .where('id', '=', sessionId)
          .execute();
        await outbox.add(tx, 'multipart.abort', {
          key: session.storage_key,
          uploadId: session.storage_upload_id,
        });
        await audit.append(tx, {
          action: 'upload.aborted',
          ...byOwner(caller, requestId),
          resource: { type: 'upload', id: sessionId },
          data: {},
        });
        return { sessionId, status: 'ABORTED' as const, abortedAt };
      });
    },
  };
}

/** Of a transaction: the connection may have been lost over the answer to its commit. */
function mayBeStored(error: unknown): boolean {
  return error instanceof AppError && error.code === 'database_unavailable';
}
