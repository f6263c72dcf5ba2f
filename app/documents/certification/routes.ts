import { linkNextPage } from '../../http/responses/next-page.ts';
import { listBytes } from '../../http/responses/page.ts';
import { routeFor } from '../../http/routing/route.ts';
import { TombstoneReference } from '../../proof/schema.ts';
import { mayRead, mayWrite } from '../records/access.ts';
import { Certified, DocumentId, SealReference } from '../records/schema.ts';
import { AuthorStatement, statementBodyBytes } from '../../statements/schema.ts';
import { DocumentProofList, DocumentProofPage } from './schema.ts';
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
    operation: 'certifyDocument',
    aliases: ['/api/v1/documents/:id/certify'],
    tag,
    summary: 'Seals the current version of a document and returns its signed proof',
    access: mayWrite,
    params: DocumentId,
    body: AuthorStatement.optional(),
    maxBodyBytes: statementBodyBytes,
    isBodyOptional: true,
    status: 200,
    response: Certified,
    errors: [
      'not_found',
      'statement_invalid',
      'document_sealed',
      'document_expired',
      'stored_file_changed',
      'storage_unavailable',
      'signer_unavailable',
      'audit_backlog_full',
    ],
    errorMembers: { document_sealed: SealReference, signer_unavailable: SealReference },
    audit: { actions: ['document.sealed'] },
    handler: ({ certification }, { request, params: { id }, body: stated }) =>
      certification.certify(request, { id, stated }),
  }),
  route({
    method: 'get',
    path: '/v1/documents/:id/proof',
    operation: 'listDocumentProofs',
    aliases: ['/api/v1/documents/:id/proof'],
    tag,
    summary:
      'Lists the signed proofs of a document, oldest first; to recipients those of its seals',
    access: mayRead,
    params: DocumentId,
    query: DocumentProofPage,
    status: 200,
    response: DocumentProofList,
    maxAnswerBytes: listBytes,
    errors: [
      'not_found',
      'proof_not_ready',
      'entry_unrecoverable',
      'entry_erased',
      'entry_archived',
    ],
    errorMembers: { entry_unrecoverable: TombstoneReference },
    audit: { actions: ['audit.read'] },
    handler: async ({ documentProofs }, { request, params, query, reply }) => {
      const { cursor, ...page } = await documentProofs.list(request, params.id, query);
      linkNextPage(reply, query, cursor);
      return { documentId: params.id, ...page };
    },
  }),
];
