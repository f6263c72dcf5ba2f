import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { JsonBodies } from '../../http/bodies/json-body.ts';
import { clientOf } from '../../http/requests/client-of.ts';
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
  readonly jsonBodies: JsonBodies;
}

interface CompletedUpload {
  readonly sessionId: string;
  readonly fileKey: string;
}

export type FormUpload = ReturnType<typeof createFormUpload>;

/** Creates the service that creates documents from multipart forms. */
export function createFormUpload(options: FormUploadOptions) {
  const { act, uploads, streamedUploads, documents, jsonBodies } = options;

  /**
   * Removes an upload from which no document was created: no response has named its storage path,
   * so its owner cannot use it.
   */
  async function discard(request: ServiceRequest, upload: CompletedUpload): Promise<void> {
    const { sessionId, fileKey } = upload;
    await act(
      request,
      async (tx) => {
        const { userId, tenantId } = request.caller;
        await uploads.hold(tx, request.caller, fileKey);
        const version = await tx
          .selectFrom('document_versions')
          .select('document_id')
          .where('storage_key', '=', fileKey)
          .where('user_id', '=', userId)
          .where('tenant_id', '=', tenantId)
          .executeTakeFirst();
        // The document was created, and only the database's reply was lost: keep the upload.
        if (version !== undefined) return { answer: undefined, events: [] };
        const events = await streamedUploads.discard(tx, request.caller, sessionId);
        return { answer: undefined, events };
      },
      { evenWithFullBacklog: true },
    );
  }

  /** Creates a document from an upload. Removes the upload if the document cannot be created. */
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
      // If the removal fails too, maintenance removes the unused upload later.
      await discard(request, upload).catch(() => undefined);
      throw error;
    }
  }

  return {
    /**
     * Creates a document from a form that contains its file. Waits until the server has hashed the
     * file or the client hangs up. If the request fails, removes what it stored. Throws
     * multipart_required, invalid_form or incomplete_body, and as `StreamedUploads.receive` and
     * `Documents.create` do.
     */
    async receive(
      request: ServiceRequest,
      stream: IncomingMessage,
    ): Promise<z.input<typeof DocumentView>> {
      const form = readForm(stream, { maxFileSize, idleMs });
      try {
        const client = clientOf(request.caller, request);
        const text = await form.document;
        const field = parseDocumentField(
          await jsonBodies.parse(text, client, { path: 'document' }),
        );
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
