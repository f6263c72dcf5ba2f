import type { z } from 'zod';
import type { RequestEvent } from '../../audit-trail/event.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { sendStream, type SentPart } from '../../storage/send-stream.ts';
import type { Completion } from '../completion/completion.ts';
import type { CompletedUpload } from '../sessions/schema.ts';
import {
  closedIfGone,
  loadSession,
  lockOpenSession,
  type SessionRow,
} from '../sessions/session-rows.ts';
import type { UploadSessions } from '../sessions/sessions.ts';

/** The size of a part in bytes. */
const partBytes = 8 * 2 ** 20;

interface StreamedFile {
  readonly fileName: string;
  readonly mimeType: string;
  /** The maximum file size in bytes. The quota counts this size until the actual size is known. */
  readonly atMost: number;
}

interface StreamedUploadsOptions {
  readonly db: Database;
  readonly outbox: Outbox;
  readonly store: ObjectStore;
  readonly sessions: UploadSessions;
  readonly completion: Completion;
  readonly clock: Clock;
}

export type StreamedUploads = ReturnType<typeof createStreamedUploads>;

/**
 * Creates the service that receives a whole file in one request. Each file gets an ordinary upload
 * session, which is aborted if the request fails.
 */
export function createStreamedUploads(options: StreamedUploadsOptions) {
  const { db, outbox, store, sessions, completion, clock } = options;

  function sendAll(session: SessionRow, chunks: AsyncIterable<Buffer>): Promise<SentPart[]> {
    const { storage_key: key, storage_upload_id: uploadId, file_size: atMost } = session;
    return sendStream(store, { key, uploadId, partBytes: Math.min(partBytes, atMost) }, chunks);
  }

  /** Records `parts` as the only parts of the upload session, and records the actual file size. */
  async function record(tx: Tx, session: SessionRow, parts: readonly SentPart[]): Promise<void> {
    const now = clock();
    const { id: session_id, user_id, tenant_id } = session;
    await lockOpenSession(tx, { userId: user_id, tenantId: tenant_id }, session_id, now);
    const file_size = parts.reduce((sum, { size }) => sum + size, 0);
    await tx
      .updateTable('upload_sessions')
      .set({ file_size, total_parts: parts.length })
      .where('id', '=', session_id)
      .where('user_id', '=', user_id)
      .where('tenant_id', '=', tenant_id)
      .execute();
    // Remove parts that another client of the user may have sent to this upload session.
    await tx
      .deleteFrom('upload_parts')
      .where('session_id', '=', session_id)
      .where('user_id', '=', user_id)
      .where('tenant_id', '=', tenant_id)
      .execute();
    await tx
      .insertInto('upload_parts')
      .values(
        parts.map((part) => ({ ...toRow(part), session_id, user_id, tenant_id, stored_at: now })),
      )
      .execute();
  }

  /**
   * Stores the bytes of `chunks` as one file and completes its upload. Throws as the steps of an
   * ordinary upload do, validation_failed for an empty file, and any error that `chunks` throws.
   */
  async function receive(
    request: ServiceRequest,
    { atMost: fileSize, ...file }: StreamedFile,
    chunks: AsyncIterable<Buffer>,
  ): Promise<z.input<typeof CompletedUpload>> {
    const { caller } = request;
    const totalParts = Math.ceil(fileSize / partBytes);
    const declared = { ...file, fileSize, totalParts };
    const { sessionId } = await sessions.create(request, declared);
    try {
      const session = await db.asUser(caller, (tx) => loadSession(tx, caller, sessionId));
      const parts = await sendAll(session, chunks);
      if (parts.length === 0) throw emptyFile();
      await db.asUser(caller, (tx) => record(tx, session, parts));
      return await completion.complete(request, sessionId);
    } catch (error) {
      // If the abort fails too, the upload session expires later.
      await sessions.abort(request, sessionId).catch(() => undefined);
      throw closedIfGone(error);
    }
  }

  return {
    receive,

    /**
     * Removes a completed upload of the owner that no document refers to, with its stored object.
     * Resolves with the audit events to record.
     */
    async discard(tx: Tx, { userId, tenantId }: Owner, sessionId: string): Promise<RequestEvent[]> {
      const removed = await tx
        .deleteFrom('upload_sessions')
        .where('id', '=', sessionId)
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .where('status', '=', 'COMPLETED')
        .returning(['storage_key as key', 'object_version as version'])
        .executeTakeFirst();
      if (removed === undefined || removed.version === null) return [];
      await outbox.add(tx, 'object.delete', { key: removed.key, version: removed.version });
      const resource = { type: 'upload', id: sessionId } as const;
      return [{ action: 'upload.aborted', resource, data: {} }];
    },
  };
}

function toRow({ partNumber, ...part }: SentPart) {
  return { part_number: partNumber, ...part };
}

function emptyFile(): AppError {
  return new AppError('validation_failed', {
    details: [{ path: 'file', message: 'must not be empty' }],
  });
}
