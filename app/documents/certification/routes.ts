import { routeFor } from '../../http/routing/route.ts';
import { mayRead, mayWrite } from '../records/access.ts';
import { Certified, DocumentId, DocumentProofList } from '../records/schema.ts';
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
    summary: 'Returns the signed proofs of the sealed versions of a document, oldest first',
    access: mayRead,
    params: DocumentId,
    status: 200,
    response: DocumentProofList,
    errors: ['not_found', 'proof_not_ready', 'entry_unrecoverable', 'entry_erased'],
    audit: { actions: ['audit.read'] },
    handler: async ({ documentProofs }, { request, params }) => ({
      documentId: params.id,
      proofs: await documentProofs.list(request, params.id),
    }),
  }),
];
