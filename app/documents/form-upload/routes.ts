import { routeFor } from '../../http/routing/route.ts';
import { mayWrite } from '../records/access.ts';
import { maxFileSize } from '../../uploads/sessions/limits.ts';
import { overheadBytes } from './body.ts';
import type { FormUpload } from './form-upload.ts';
import { UploadForm } from './schema.ts';
import { DocumentView } from '../records/schema.ts';

const route = routeFor<{ readonly formUpload: FormUpload }>();

export const formUploadRoutes = [
  route({
    method: 'post',
    path: '/v1/documents/upload',
    operation: 'uploadDocument',
    aliases: ['/api/v1/documents/upload'],
    tag: 'Documents',
    summary: 'Creates a document from a form: first the field `document`, then its encrypted file',
    access: { ...mayWrite, scopes: [...mayWrite.scopes, 'uploads:write'] },
    streamsForm: UploadForm,
    maxBodyBytes: maxFileSize + overheadBytes,
    status: 201,
    response: DocumentView,
    errors: [
      'multipart_required',
      'invalid_form',
      'invalid_json',
      'validation_failed',
      'mime_type_not_allowed',
      'file_too_large',
      'incomplete_body',
      'stored_file_not_found',
      'duplicate_hash',
      'document_exists',
      'session_closed',
      'session_expired',
      'quota_exceeded',
      'storage_unavailable',
      'storage_full',
      'audit_backlog_full',
    ],
    audit: {
      actions: ['upload.created', 'upload.completed', 'document.created', 'upload.aborted'],
      note: '`upload.aborted` only if the form fails',
    },
    handler: ({ formUpload }, { request, http }) => formUpload.receive(request, http.stream),
  }),
];
