import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';
import { untilHangUp } from '../../http/requests/hang-up.ts';
import { idleMs } from '../../http/requests/idle-clients.ts';
import { maxFileSize } from '../../uploads/sessions/limits.ts';
import type { Uploads } from '../../uploads/uploads.ts';
import type { StreamedUploads } from '../../uploads/streamed/streamed-uploads.ts';
import { readForm } from './body.ts';
import { parseDocumentField, parseFileField } from './schema.ts';
import type { DocumentView } from '../records/schema.ts';
import type { Documents } from '../documents.ts';

export interface FormUpload {
  /**
   * Makes a document of a form with its file, and waits for the server's hash, unless the client
   * hangs up. Of a form that fails nothing remains. Throws what an upload and the making of a
   * document throw, multipart_required, invalid_form or incomplete_body.
   */
  receive(
    caller: Caller,
    request: IncomingMessage,
    requestId: string,
  ): Promise<z.input<typeof DocumentView>>;
}

interface FormUploadOptions {
  readonly db: Database;
  readonly uploads: Uploads;
  readonly streamedUploads: StreamedUploads;
  readonly documents: Documents;
}

export function createFormUpload(options: FormUploadOptions): FormUpload {
  const { db, uploads, streamedUploads, documents } = options;

  /** Who was refused a document does not know where its file is. */
  async function discard(
    caller: Caller,
    { sessionId, fileKey }: { sessionId: string; fileKey: string },
    requestId: string,
  ): Promise<void> {
    await db.asUser(caller, async (tx) => {
      await uploads.hold(tx, fileKey);
      const version = await tx
        .selectFrom('document_versions')
        .select('document_id')
        .where('storage_key', '=', fileKey)
        .executeTakeFirst();
      // It was made after all, and its answer lost.
      if (version !== undefined) return;
      await streamedUploads.discard(tx, caller, sessionId, requestId);
    });
  }

  return {
    async receive(caller, request, requestId) {
      const form = readForm(request, { maxFileSize, idleMs });
      try {
        const document = parseDocumentField(await form.document);
        const { bytes, ...named } = await form.file;
        const file = parseFileField(named);
        const length = Number(request.headers['content-length'] ?? maxFileSize);
        const streamed = { ...file, atMost: Math.min(length, maxFileSize) };
        const upload = await streamedUploads.receive(caller, streamed, bytes, requestId);
        try {
          const input = { ...document, storagePath: upload.fileKey };
          return await untilHangUp(request, (hangUp) =>
            documents.create(caller, input, requestId, hangUp),
          );
        } catch (error) {
          // Where that fails too, it goes as uploads go that become no document.
          await discard(caller, upload, requestId).catch(() => undefined);
          throw error;
        }
      } catch (error) {
        form.discard();
        throw error;
      }
    },
  };
}
