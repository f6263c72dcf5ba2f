import { linkNextPage } from '../http/responses/next-page.ts';
import { etagOf } from '../http/responses/precondition.ts';
import { metadataBodyBytes } from '../http/bodies/json-body.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { FreshProofs } from '../sessions/fresh-proof.ts';
import { AuthorStatement, statementBodyBytes } from '../statements/schema.ts';
import type { Documents } from './documents.ts';
import { mayRead, mayWrite } from './records/access.ts';
import {
  CreateDocument,
  DocumentHash,
  DocumentId,
  DocumentList,
  DocumentPage,
  DocumentView,
} from './records/schema.ts';

const tag = 'Documents';
const route = routeFor<{ readonly documents: Documents; readonly freshProofs: FreshProofs }>();

export const documentRoutes = [
  route({
    method: 'post',
    path: '/v1/documents',
    operation: 'createDocument',
    aliases: ['/api/v1/documents'],
    tag,
    summary: 'Creates a document from a completed upload',
    access: mayWrite,
    body: CreateDocument,
    maxBodyBytes: metadataBodyBytes,
    idempotent: true,
    waitsLong: true,
    status: 201,
    response: DocumentView,
    errors: [
      'stored_file_not_found',
      'duplicate_hash',
      'document_exists',
      'quota_exceeded',
      'storage_unavailable',
      'audit_backlog_full',
    ],
    audit: { actions: ['document.created'] },
    handler: ({ documents }, { request, body }) => documents.create(request, body),
  }),
  route({
    method: 'get',
    path: '/v1/documents',
    operation: 'listDocuments',
    aliases: ['/api/v1/documents'],
    tag,
    summary: 'Lists the caller’s documents, newest first',
    access: mayRead,
    query: DocumentPage,
    status: 200,
    response: DocumentList,
    maxAnswerBytes: listBytes,
    errors: [],
    handler: async ({ documents }, { request, query, reply }) => {
      const page = await documents.list(request, query);
      linkNextPage(reply, query, page.cursor);
      return page.documents;
    },
  }),
  route({
    method: 'get',
    path: '/v1/documents/:id',
    operation: 'getDocument',
    aliases: ['/api/v1/documents/:id'],
    tag,
    summary: 'Returns a document; its ETag changes with every change of the document',
    access: mayRead,
    params: DocumentId,
    status: 200,
    response: DocumentView,
    hasETag: true,
    errors: ['not_found'],
    handler: async ({ documents }, { request, params, reply }) => {
      const { document, revision } = await documents.get(request, params.id);
      reply.set('ETag', etagOf(revision));
      return document;
    },
  }),
  route({
    method: 'get',
    path: '/v1/documents/:id/hash',
    operation: 'getDocumentHash',
    aliases: ['/api/v1/documents/:id/hash'],
    tag,
    summary: 'Returns the hash of the encrypted file as the server computed it',
    access: mayRead,
    params: DocumentId,
    status: 200,
    response: DocumentHash,
    errors: ['not_found'],
    handler: async ({ documents }, { request, params }) => {
      const hash = await documents.getHash(request, params.id);
      return { hash, algorithm: 'SHA3-256' as const };
    },
  }),
  route({
    method: 'delete',
    path: '/v1/documents/:id',
    operation: 'deleteDocument',
    aliases: ['/api/v1/documents/:id'],
    tag,
    summary: 'Deletes a document; only administrators delete one that has a sealed version',
    access: { ...mayWrite, freshProof: 'for a sealed version' },
    params: DocumentId,
    body: AuthorStatement.optional(),
    maxBodyBytes: statementBodyBytes,
    isBodyOptional: true,
    status: 204,
    response: undefined,
    errors: ['not_found', 'statement_invalid', 'audit_backlog_full'],
    forbids: ['document_sealed'],
    audit: { actions: ['document.deleted'] },
    handler: async ({ documents, freshProofs }, { request, http, params, body: stated }) => {
      const proof = await freshProofs.read(request.caller, http.headers);
      return documents.remove(request, params.id, { proof, stated });
    },
  }),
];
