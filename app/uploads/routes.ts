import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { Completion } from './completion/completion.ts';
import { maxFileSize, maxPartSize, maxParts, minPartSize } from './sessions/limits.ts';
import type { Parts } from './parts/parts.ts';
import {
  AbortedUpload,
  CompletedUpload,
  CreatedUpload,
  CreateUpload,
  PartPath,
  SessionId,
  StoredPart,
  UploadConfig,
  UploadProgress,
} from './sessions/schema.ts';
import type { UploadSessions } from './sessions/sessions.ts';

const tag = 'Uploads';
const access = { scopes: ['uploads:write'] };

interface UploadRouteServices {
  readonly uploadSessions: UploadSessions;
  readonly parts: Parts;
  readonly completion: Completion;
  readonly uploadSettings: {
    readonly sessionTtlSeconds: number;
    readonly allowedMimeTypes: readonly string[];
  };
}

const route = routeFor<UploadRouteServices>();

export const uploadRoutes = [
  route({
    method: 'get',
    path: '/v1/uploads/config',
    operation: 'getUploadConfiguration',
    tag,
    summary: 'Returns the limits of uploads',
    access,
    status: 200,
    response: UploadConfig,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ uploadSettings }) => ({
      maxFileSize,
      minPartSize,
      maxPartSize,
      maxParts,
      sessionTTL: uploadSettings.sessionTtlSeconds,
      allowedMimeTypes: [...uploadSettings.allowedMimeTypes],
    }),
  }),
  route({
    method: 'post',
    path: '/v1/uploads',
    operation: 'createUpload',
    tag,
    summary: 'Opens an upload session',
    access,
    body: CreateUpload,
    maxBodyBytes: smallBodyBytes,
    idempotent: true,
    status: 201,
    response: CreatedUpload,
    errors: [
      'mime_type_not_allowed',
      'file_too_large',
      'invalid_total_parts',
      'quota_exceeded',
      'storage_unavailable',
      'storage_full',
      'audit_backlog_full',
    ],
    audit: {
      actions: ['upload.created', 'upload.expired'],
      note: '`upload.expired` for overdue uploads that held the room',
    },
    handler: ({ uploadSessions }, { request, body }) => uploadSessions.create(request, body),
  }),
  route({
    method: 'put',
    path: '/v1/uploads/:sessionId/parts/:partNumber',
    operation: 'uploadPart',
    tag,
    summary: 'Receives one part of a file',
    access,
    params: PartPath,
    streamsBody: true,
    maxBodyBytes: maxPartSize,
    status: 200,
    response: StoredPart,
    errors: [
      'length_required',
      'invalid_part_number',
      'invalid_part_size',
      'parts_cannot_fit',
      'incomplete_body',
      'digest_mismatch',
      'not_found',
      'part_conflict',
      'part_in_progress',
      'session_closed',
      'completion_in_progress',
      'session_expired',
      'storage_unavailable',
      'storage_full',
    ],
    audit: { actions: [], note: 'the entry of the completion covers all parts' },
    handler: ({ parts }, { request, params, http }) => parts.receive(request, params, http.stream),
  }),
  route({
    method: 'post',
    path: '/v1/uploads/:sessionId/complete',
    operation: 'completeUpload',
    tag,
    summary: 'Assembles the file from its parts',
    access,
    params: SessionId,
    status: 200,
    response: CompletedUpload,
    errors: [
      'invalid_parts',
      'parts_cannot_fit',
      'not_found',
      'session_closed',
      'completion_in_progress',
      'session_expired',
      'storage_unavailable',
      'storage_full',
      'audit_backlog_full',
    ],
    audit: { actions: ['upload.completed'] },
    handler: ({ completion }, { request, params }) =>
      completion.complete(request, params.sessionId),
  }),
  route({
    method: 'delete',
    path: '/v1/uploads/:sessionId',
    operation: 'abortUpload',
    tag,
    summary: 'Aborts an upload',
    access,
    params: SessionId,
    status: 200,
    response: AbortedUpload,
    errors: ['not_found', 'session_completed', 'completion_in_progress', 'audit_backlog_full'],
    audit: { actions: ['upload.aborted'] },
    handler: ({ uploadSessions }, { request, params }) =>
      uploadSessions.abort(request, params.sessionId),
  }),
  route({
    method: 'get',
    path: '/v1/uploads/:sessionId',
    operation: 'getUploadProgress',
    tag,
    summary: 'Returns the progress of an upload',
    access,
    params: SessionId,
    status: 200,
    response: UploadProgress,
    errors: ['not_found', 'session_expired'],
    handler: ({ uploadSessions }, { request, params }) =>
      uploadSessions.progress(request, params.sessionId),
  }),
];
