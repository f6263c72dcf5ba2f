import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { untilHangUp } from '../../http/requests/hang-up.ts';
import { idleMs } from '../../http/requests/idle-clients.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { Act } from '../../audit-trail/act.ts';
import { maxFileSize } from '../../uploads/sessions/limits.ts';
import type { StreamedUploads } from '../../uploads/streamed/streamed-uploads.ts';
import type { Uploads } from '../../uploads/uploads.ts';
import type { Documents } from '../documents.ts';
import type { DocumentView } from '../records/schema.ts';
import { readForm } from './body.ts';
import { parseDocumentField, parseFileField } from './schema.ts';

interface FormUploadOptions {
  readonly act: Act;
  readonly uploads: Uploads;
  readonly streamedUploads: StreamedUploads;
  readonly documents: Documents;
}

interface CompletedUpload {
  readonly sessionId: string;
  readonly fileKey: string;
}

export type FormUpload = ReturnType<typeof createFormUpload>;

/** Creates the service that creates documents from forms. */
export function createFormUpload(options: FormUploadOptions) {
  const { act, uploads, streamedUploads, documents } = options;

  /** Removes the upload of a form that became no document: its owner was never told its path. */
  async function discard(request: ServiceRequest, upload: CompletedUpload): Promise<void> {
    const { sessionId, fileKey } = upload;
    await act(
      request,
      async (tx) => {
        await uploads.hold(tx, fileKey);
        const version = await tx
          .selectFrom('document_versions')
          .select('document_id')
          .where('storage_key', '=', fileKey)
          .executeTakeFirst();
        // The document was created after all: only the database's reply was lost.
        if (version !== undefined) return { answer: undefined, events: [] };
        return { answer: undefined, events: await streamedUploads.discard(tx, sessionId) };
      },
      { evenWithFullBacklog: true },
    );
  }

  /** Creates a document from an upload. Removes the upload if that fails. */
  async function createDocument(
    request: ServiceRequest,
    stream: IncomingMessage,
    upload: CompletedUpload,
    field: ReturnType<typeof parseDocumentField>,
  ): Promise<z.input<typeof DocumentView>> {
    const input = { ...field, storagePath: upload.fileKey };
    try {
      return await untilHangUp(stream, (hangUp) => documents.create({ ...request, hangUp }, input));
    } catch (error) {
      // If that fails too, maintenance removes the upload as an unused one.
      await discard(request, upload).catch(() => undefined);
      throw error;
    }
  }

  return {
    /**
     * Creates a document from a form with its file. Waits for the server's hash of the file unless
     * the client hangs up. A form that fails leaves nothing behind. Throws the errors of an upload
     * and of `Documents.create`, multipart_required, invalid_form or incomplete_body.
     */
    async receive(
      request: ServiceRequest,
      stream: IncomingMessage,
    ): Promise<z.input<typeof DocumentView>> {
      const form = readForm(stream, { maxFileSize, idleMs });
      try {
        const field = parseDocumentField(await form.document);
        const { bytes, ...named } = await form.file;
        const file = parseFileField(named);
        const length = Number(stream.headers['content-length'] ?? maxFileSize);
        const streamed = { ...file, atMost: Math.min(length, maxFileSize) };
        const upload = await streamedUploads.receive(request, streamed, bytes);
        return await createDocument(request, stream, upload, field);
      } catch (error) {
        form.discard();
        throw error;
      }
    },
  };
}
