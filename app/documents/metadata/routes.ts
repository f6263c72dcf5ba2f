import { etagOf, parseIfMatch } from '../../http/responses/precondition.ts';
import { metadataBodyBytes } from '../../http/bodies/json-body.ts';
import { routeFor } from '../../http/routing/route.ts';
import { mayWrite } from '../records/access.ts';
import type { DocumentMetadata } from './metadata.ts';
import { DocumentId, DocumentView, ReplaceMetadata, SealReference } from '../records/schema.ts';

const route = routeFor<{ readonly documentMetadata: DocumentMetadata }>();

export const metadataRoutes = [
  route({
    method: 'put',
    path: '/v1/documents/:id/metadata',
    operation: 'replaceMetadata',
    aliases: ['/api/v1/documents/:id/metadata'],
    tag: 'Documents',
    summary: 'Replaces the metadata of a document whose ETag is sent as If-Match',
    access: mayWrite,
    params: DocumentId,
    body: ReplaceMetadata,
    maxBodyBytes: metadataBodyBytes,
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
      'quota_exceeded',
      'audit_backlog_full',
    ],
    errorMembers: { document_sealed: SealReference },
    audit: { actions: ['document.metadata_changed'] },
    handler: async ({ documentMetadata }, { request, params, body, http, reply }) => {
      const ifMatch = parseIfMatch(http.headers['if-match']);
      const replacement = { ...body, ifMatch };
      const { document, revision } = await documentMetadata.replace(
        request,
        params.id,
        replacement,
      );
      reply.set('ETag', etagOf(revision));
      return document;
    },
  }),
];
