import { linkNextPage } from '../../http/responses/next-page.ts';
import { listBytes } from '../../http/responses/page.ts';
import { routeFor } from '../../http/routing/route.ts';
import { mayRead, mayWrite } from '../records/access.ts';
import { Certified, DocumentId, DocumentProofList, VersionPage } from '../records/schema.ts';
import type { Certification } from './certification.ts';
import type { DocumentProofs } from './document-proofs.ts';

const tag = 'Documents';

interface SealingServices {
  readonly certification: Certification;
  readonly documentProofs: DocumentProofs;
}

const route = routeFor<SealingServices>();

/** The routes that seal a document and return the proofs of its sealed versions. */
export const sealingRoutes = [
  route({
    method: 'post',
    path: '/v1/documents/:id/certify',
    aliases: ['/api/v1/documents/:id/certify'],
    tag,
    summary: 'Seals the current version of a document and returns its signed proof',
    access: mayWrite,
    params: DocumentId,
    status: 200,
    response: Certified,
    errors: [
      'not_found',
      'document_sealed',
      'document_expired',
      'stored_file_changed',
      'storage_unavailable',
      'signer_unavailable',
      'audit_backlog_full',
    ],
    audit: { actions: ['document.sealed'] },
    handler: ({ certification }, { request, params }) => certification.certify(request, params.id),
  }),
  route({
    method: 'get',
    path: '/v1/documents/:id/proof',
    aliases: ['/api/v1/documents/:id/proof'],
    tag,
    summary: 'Lists the signed proofs of the sealed versions of a document, oldest first',
    access: mayRead,
    params: DocumentId,
    query: VersionPage,
    status: 200,
    response: DocumentProofList,
    maxAnswerBytes: listBytes,
    errors: ['not_found', 'proof_not_ready', 'entry_unrecoverable', 'entry_erased'],
    audit: { actions: ['audit.read'] },
    handler: async ({ documentProofs }, { request, params, query, reply }) => {
      const { proofs, cursor } = await documentProofs.list(request, params.id, query);
      linkNextPage(reply, `/v1/documents/${params.id}/proof`, query, cursor);
      return { documentId: params.id, proofs };
    },
  }),
];
