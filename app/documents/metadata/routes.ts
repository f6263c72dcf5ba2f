import { etagOf, parseIfMatch } from '../../http/answers/precondition.ts';
import { route, type Route } from '../../http/routing/route.ts';
import { mayWrite } from '../records/access.ts';
import type { DocumentMetadata } from './metadata.ts';
import { DocumentId, DocumentView, ReplaceMetadata } from '../records/schema.ts';

interface MetadataRoutesOptions {
  readonly documentMetadata: DocumentMetadata;
}

export function createMetadataRoutes({ documentMetadata }: MetadataRoutesOptions): Route[] {
  return [
    route({
      method: 'put',
      path: '/v1/documents/:id/metadata',
      aliases: ['/api/v1/documents/:id/metadata'],
      tag: 'Documents',
      summary: 'Replaces the metadata of a document whose ETag is sent as If-Match',
      access: mayWrite,
      params: DocumentId,
      body: ReplaceMetadata,
      status: 200,
      response: DocumentView,
      hasETag: true,
      errors: [
        'invalid_request',
        'not_found',
        'document_sealed',
        'document_expired',
        'precondition_failed',
        'precondition_required',
        'audit_backlog_full',
      ],
      handler: async ({ caller, params, body, request, reply }) => {
        const { document, revision } = await documentMetadata.replace(caller, params.id, body, {
          ifMatch: parseIfMatch(request.headers['if-match']),
          requestId: request.serverId,
        });
        reply.set('ETag', etagOf(revision));
        return document;
      },
    }),
  ];
}
