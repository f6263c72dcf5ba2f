import { route, type Route } from '../http/routing/route.ts';
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

interface UploadRoutesOptions {
  readonly sessions: UploadSessions;
  readonly parts: Parts;
  readonly completion: Completion;
  readonly sessionTtlSeconds: number;
  readonly allowedMimeTypes: readonly string[];
}

export function createUploadRoutes(options: UploadRoutesOptions): Route[] {
  const { sessions, parts, completion } = options;
  return [
    route({
      method: 'get',
      path: '/v1/uploads/config',
      tag,
      summary: 'The limits of uploads',
      access,
      status: 200,
      response: UploadConfig,
      errors: [],
      handler: async () => ({
        maxFileSize,
        minPartSize,
        maxPartSize,
        maxParts,
        sessionTTL: options.sessionTtlSeconds,
        allowedMimeTypes: [...options.allowedMimeTypes],
      }),
    }),
    route({
      method: 'post',
      path: '/v1/uploads',
      tag,
      summary: 'Opens an upload session',
      access,
      body: CreateUpload,
      idempotent: true,
      status: 201,
      response: CreatedUpload,
      errors: [
        'mime_type_not_allowed',
        'file_too_large',
        'invalid_total_parts',
        'quota_exceeded',
        'storage_unavailable',
        'audit_backlog_full',
      ],
      handler: ({ caller, body, request, idempotency }) =>
        sessions.create(caller, body, request.serverId, idempotency),
    }),
    route({
      method: 'put',
      path: '/v1/uploads/:sessionId/parts/:partNumber',
      tag,
      summary: 'Sends one part',
      access,
      params: PartPath,
      streamsBody: true,
      status: 200,
      response: StoredPart,
      errors: [
        'length_required',
        'invalid_part_number',
        'invalid_part_size',
        'incomplete_body',
        'digest_mismatch',
        'not_found',
        'part_conflict',
        'part_in_progress',
        'session_closed',
        'completion_in_progress',
        'session_expired',
        'storage_unavailable',
      ],
      handler: ({ caller, params, request }) => parts.receive(caller, params, request.stream),
    }),
    route({
      method: 'post',
      path: '/v1/uploads/:sessionId/complete',
      tag,
      summary: 'Assembles the file',
      access,
      params: SessionId,
      status: 200,
      response: CompletedUpload,
      errors: [
        'invalid_parts',
        'not_found',
        'session_closed',
        'completion_in_progress',
        'session_expired',
        'storage_unavailable',
        'audit_backlog_full',
      ],
      handler: ({ caller, params, request }) =>
        completion.complete(caller, params.sessionId, request.serverId),
    }),
    route({
      method: 'delete',
      path: '/v1/uploads/:sessionId',
      tag,
      summary: 'Aborts the upload',
      access,
      params: SessionId,
      status: 200,
      response: AbortedUpload,
      errors: ['not_found', 'session_completed', 'completion_in_progress', 'audit_backlog_full'],
      handler: ({ caller, params, request }) =>
        sessions.abort(caller, params.sessionId, request.serverId),
    }),
    route({
      method: 'get',
      path: '/v1/uploads/:sessionId',
      tag,
      summary: 'How far the upload is',
      access,
      params: SessionId,
      status: 200,
      response: UploadProgress,
      errors: ['not_found', 'session_expired'],
      handler: ({ caller, params }) => sessions.progress(caller, params.sessionId),
    }),
  ];
}
