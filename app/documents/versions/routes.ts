import { untilHangUp } from '../../http/requests/hang-up.ts';
import { linkNextPage } from '../../http/answers/next-page.ts';
import { route, type Route } from '../../http/routing/route.ts';
import { mayRead, mayWrite } from '../records/access.ts';
import type { DocumentProofs } from '../sealing/document-proofs.ts';
import {
  AddVersion,
  DocumentId,
  DocumentProofList,
  VersionList,
  VersionPage,
  VersionView,
} from '../records/schema.ts';
import type { DocumentVersions } from './versions.ts';

const tag = 'Documents';

interface VersionRoutesOptions {
  readonly documentVersions: DocumentVersions;
  readonly documentProofs: DocumentProofs;
}

/** The versions of a document, and what proves the sealed ones. */
export function createVersionRoutes(options: VersionRoutesOptions): Route[] {
  const { documentVersions, documentProofs } = options;
  return [
    route({
      method: 'post',
      path: '/v1/documents/:id/versions',
      aliases: ['/api/v1/documents/:id/versions'],
      tag,
      summary: 'Makes a completed upload the current version of a document',
      access: mayWrite,
      params: DocumentId,
      body: AddVersion,
      idempotent: true,
      status: 201,
      response: VersionView,
      errors: [
        'not_found',
        'stored_file_not_found',
        'duplicate_hash',
        'too_many_versions',
        'storage_unavailable',
        'audit_backlog_full',
      ],
      handler: ({ caller, params, body, request, idempotency }) =>
        untilHangUp(request.stream, (hangUp) => {
          const { serverId: requestId } = request;
          return documentVersions.add(caller, params.id, body, { requestId, hangUp, idempotency });
        }),
    }),
    route({
      method: 'get',
      path: '/v1/documents/:id/versions',
      aliases: ['/api/v1/documents/:id/versions'],
      tag,
      summary: 'The versions of a document, newest first',
      access: mayRead,
      params: DocumentId,
      query: VersionPage,
      status: 200,
      response: VersionList,
      errors: ['not_found'],
      handler: async ({ caller, params, query, reply }) => {
        const { versions, cursor } = await documentVersions.list(caller, params.id, query);
        linkNextPage(reply, `/v1/documents/${params.id}/versions`, query, cursor);
        return versions;
      },
    }),
    route({
      method: 'get',
      path: '/v1/documents/:id/proof',
      aliases: ['/api/v1/documents/:id/proof'],
      tag,
      summary: 'The signed proofs of the sealed versions of a document, oldest first',
      access: mayRead,
      params: DocumentId,
      status: 200,
      response: DocumentProofList,
      errors: ['not_found', 'proof_not_ready', 'entry_unrecoverable', 'entry_erased'],
      handler: async ({ caller, params }) => ({
        documentId: params.id,
        proofs: await documentProofs.list(caller, params.id),
      }),
    }),
  ];
}
