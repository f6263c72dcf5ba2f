import { z } from 'zod';
import { IntegerText } from '../../http/bodies/wire.ts';
import { routeFor } from '../../http/routing/route.ts';
import { StreamedAnswer } from '../../http/responses/streamed-answer.ts';
import { mayRead } from '../records/access.ts';
import { answerWithFile } from './file-answer.ts';
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
      'rate_limited',
    ],
    audit: {
      actions: ['document.downloaded'],
      note: 'once the download has ended, but none for HEAD and 304',
    },
    handler: async ({ downloads }, input): Promise<StreamedAnswer> => {
      const { request, params, query, http, reply } = input;
      const { version } = query;
      const found = await downloads.find(request, { id: params.id, version }, http.stream);
      const { file_size: size, file_hash: hash, storage_key: key } = found.file;
      return answerWithFile(http.stream, reply, {
        fileName: key.slice(key.indexOf('/') + 1),
        size,
        hash,
        wanted: found.wanted,
        open: (range, signal) => downloads.open(request, found, { range, signal }),
        onSent: (sent) => found.download?.end(sent),
      });
    },
  }),
];
