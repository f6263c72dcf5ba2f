import { Readable } from 'node:stream';
import type { z } from 'zod';
import { byOwner } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import type { Completion } from '../completion/completion.ts';
import { cutParts } from './cut-parts.ts';
import type { CompletedUpload } from '../sessions/schema.ts';
import {
  closedIfGone,
  loadSession,
  lockOpenSession,
  type SessionRow,
} from '../sessions/session-rows.ts';
import type { UploadSessions } from '../sessions/sessions.ts';

/** Of every upload two such parts are in memory: one on its way to the store, one being read. */
const partBytes = 8 * 2 ** 20;
const pieceBytes = 2 ** 18;

interface StreamedFile {
  readonly fileName: string;
  readonly mimeType: string;
  /** Bytes that it will have at most, set aside of the plan until its end tells how many. */
  readonly atMost: number;
}

type Completed = z.input<typeof CompletedUpload>;

/** Files that come in one request: a session like any other, of which nothing remains if it fails. */
export interface StreamedUploads {
  /**
   * Stores what is read of `chunks` and completes the upload. Throws what the steps of an upload
   * throw, validation_failed for a file without a byte, and what `chunks` throws.
   */
  receive(
    caller: Caller,
    file: StreamedFile,
    chunks: AsyncIterable<Buffer>,
    requestId: string,
  ): Promise<Completed>;
  /** Removes a completed upload that nothing refers to, with what is stored of it. */
  discard(tx: Tx, caller: Caller, sessionId: string, requestId: string): Promise<void>;
}

interface StreamedUploadsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly outbox: Outbox;
  readonly store: ObjectStore;
  readonly sessions: UploadSessions;
  readonly completion: Completion;
  readonly clock: Clock;
}

interface SentPart {
  readonly part_number: number;
  readonly size: number;
  readonly etag: string;
  readonly sha256: string;
}

export function createStreamedUploads(options: StreamedUploadsOptions): StreamedUploads {
  const { db, audit, outbox, store, sessions, completion, clock } = options;

  async function send(
    session: SessionRow,
    partNumber: number,
    bytes: Buffer,
    signal: AbortSignal,
  ): Promise<SentPart> {
    const { storage_key: key, storage_upload_id: uploadId } = session;
    const part = { key, uploadId, partNumber, size: bytes.length };
    const body = Readable.from(piecesOf(bytes), { objectMode: false });
    const sent = await store.putPart(part, body, { signal });
    return { part_number: partNumber, size: bytes.length, ...sent };
  }

  /** While a part is sent the next one is read. */
  async function sendAll(session: SessionRow, chunks: AsyncIterable<Buffer>): Promise<SentPart[]> {
    const parts = cutParts(chunks, Math.min(partBytes, session.file_size));
    const sent: SentPart[] = [];
    const stop = new AbortController();
    let sending: Promise<SentPart> | undefined;
    try {
      for (let part = await parts.next(); part.done !== true;) {
        sending = send(session, sent.length + 1, part.value, stop.signal);
        const [done, next] = await Promise.all([sending, parts.next()]);
        sent.push(done);
        part = next;
      }
      return sent;
    } catch (error) {
      // An abort of the upload would not reach a part that is still on its way.
      stop.abort(error);
      await sending?.catch(() => undefined);
      throw error;
    }
  }

  /** From now on the session is of exactly these parts. */
  async function record(tx: Tx, session: SessionRow, parts: readonly SentPart[]): Promise<void> {
    const now = clock();
    const locked = await lockOpenSession(tx, session.id, now);
    const { id: session_id, user_id, tenant_id } = locked;
    const file_size = parts.reduce((sum, { size }) => sum + size, 0);
    await tx
      .updateTable('upload_sessions')
      .set({ file_size, total_parts: parts.length })
      .where('id', '=', session_id)
      .execute();
    // Whoever found the session elsewhere may have sent some.
    await tx.deleteFrom('upload_parts').where('session_id', '=', session_id).execute();
    await tx
      .insertInto('upload_parts')
      .values(parts.map((part) => ({ ...part, session_id, user_id, tenant_id, stored_at: now })))
      .execute();
  }

  return {
    async receive(caller, { atMost: fileSize, ...file }, chunks, requestId) {
      const totalParts = Math.ceil(fileSize / partBytes);
      const declared = { ...file, fileSize, totalParts };
      const { sessionId } = await sessions.create(caller, declared, requestId);
      try {
        const session = await db.asUser(caller, (tx) => loadSession(tx, sessionId));
        const parts = await sendAll(session, chunks);
        if (parts.length === 0) throw emptyFile();
        await db.asUser(caller, (tx) => record(tx, session, parts));
        return await completion.complete(caller, sessionId, requestId);
      } catch (error) {
        // Where that fails too, it ends as sessions do that nobody ends.
        await sessions.abort(caller, sessionId, requestId).catch(() => undefined);
        throw closedIfGone(error);
      }
    },

    async discard(tx, caller, sessionId, requestId) {
      const removed = await tx
        .deleteFrom('upload_sessions')
        .where('id', '=', sessionId)
        .where('status', '=', 'COMPLETED')
        .returning(['storage_key as key', 'object_version as version'])
        .executeTakeFirst();
      if (removed === undefined || removed.version === null) return;
      await outbox.add(tx, 'object.delete', { key: removed.key, version: removed.version });
      await audit.append(tx, {
        action: 'upload.aborted',
        ...byOwner(caller, requestId),
        resource: { type: 'upload', id: sessionId },
        data: {},
      });
    },
  };
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    yield bytes.subarray(start, start + pieceBytes);
  }
}

function emptyFile(): AppError {
  return new AppError('validation_failed', {
    details: [{ path: 'file', message: 'must not be empty' }],
  });
}
