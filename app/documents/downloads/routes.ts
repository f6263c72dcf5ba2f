import { z } from 'zod';
import { AppError } from '../../errors/app-error.ts';
import { IntegerText } from '../../http/bodies/wire.ts';
import { routeFor } from '../../http/routing/route.ts';
import { StreamedAnswer } from '../../http/responses/streamed-answer.ts';
import { mayRead } from '../records/access.ts';
import { evaluate } from './range-request.ts';
import type { Downloads } from './downloads.ts';
import { DocumentId } from '../records/schema.ts';

const DownloadQuery = z.strictObject({
  version: IntegerText(1, 999_999_999)
    .optional()
    .describe('Number of a version. Default: the current version.'),
});

/** Bytes of a download that are in memory at once. */
const chunkBytes = 2 ** 19;

const route = routeFor<{ readonly downloads: Downloads }>();

export const downloadRoutes = [
  route({
    method: 'get',
    path: '/v1/documents/:id/download',
    operation: 'downloadDocument',
    aliases: ['/api/v1/documents/:id/download'],
    tag: 'Documents',
    summary: 'Returns the encrypted file of a document, or one range of it',
    access: mayRead,
    params: DocumentId,
    query: DownloadQuery,
    status: 200,
    response: StreamedAnswer,
    maxAnswerBytes: chunkBytes,
    errors: [
      'invalid_request',
      'not_found',
      'stored_file_changed',
      'precondition_failed',
      'range_not_satisfiable',
      'storage_unavailable',
    ],
    handler: async ({ downloads }, input): Promise<StreamedAnswer> => {
      const { request, params, query, http, reply } = input;
      const file = await downloads.find(request, params.id, query.version);
      const { file_size: size, file_hash: fileHash, storage_key: key } = file;
      const etag = `"${fileHash}"`;
      const headers = {
        ETag: etag,
        'Accept-Ranges': 'bytes',
        'Cache-Control': 'private, no-cache',
      };
      const wanted = evaluate(http.stream, etag, size);
      if (wanted === 'beyond') {
        reply.set('Content-Range', `bytes */${size}`);
        throw new AppError('range_not_satisfiable');
      }
      if (wanted === 'nothing') return { status: 304, headers };
      const range = wanted === 'all' ? undefined : wanted;
      const body = {
        fileName: key.slice(key.indexOf('/') + 1),
        length: range === undefined ? size : range.last - range.first + 1,
        open: (signal: AbortSignal) => downloads.open(request, file, { range, signal }),
      };
      if (range === undefined) return { status: 200, headers, body };
      const contentRange = `bytes ${range.first}-${range.last}/${size}`;
      return { status: 206, headers: { ...headers, 'Content-Range': contentRange }, body };
    },
  }),
];
