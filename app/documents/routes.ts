import { untilHangUp } from '../http/requests/hang-up.ts';
import { linkNextPage } from '../http/answers/next-page.ts';
import { etagOf } from '../http/answers/precondition.ts';
import { route, type Route } from '../http/routing/route.ts';
import { mayRead, mayWrite } from './records/access.ts';
import type { Certification } from './sealing/certification.ts';
import {
  Certified,
  CreateDocument,
  DocumentHash,
  DocumentId,
  DocumentList,
  DocumentPage,
  DocumentView,
} from './records/schema.ts';
import type { Documents } from './documents.ts';

const tag = 'Documents';

interface DocumentRoutesOptions {
  readonly documents: Documents;
  readonly certification: Certification;
}

export function createDocumentRoutes(options: DocumentRoutesOptions): Route[] {
  const { documents, certification } = options;
  return [
    route({
      method: 'post',
      path: '/v1/documents',
      aliases: ['/api/v1/documents'],
      tag,
      summary: 'Makes a document of a completed upload',
      access: mayWrite,
      body: CreateDocument,
      idempotent: true,
      status: 201,
      response: DocumentView,
      errors: [
        'stored_file_not_found',
        'duplicate_hash',
        'storage_unavailable',
        'audit_backlog_full',
      ],
      handler: ({ caller, body, request, idempotency }) =>
        untilHangUp(request.stream, (hangUp) =>
          documents.create(caller, body, request.serverId, hangUp, idempotency),
        ),
    }),
    route({
      method: 'get',
      path: '/v1/documents',
      aliases: ['/api/v1/documents'],
      tag,
      summary: 'The documents of the caller, newest first',
      access: mayRead,
      query: DocumentPage,
      status: 200,
      response: DocumentList,
      errors: [],
      handler: async ({ caller, query, reply }) => {
        const page = await documents.list(caller, query);
        linkNextPage(reply, '/v1/documents', query, page.cursor);
        return page.documents;
      },
    }),
    route({
      method: 'get',
      path: '/v1/documents/:id',
      aliases: ['/api/v1/documents/:id'],
      tag,
      summary: 'One document; its ETag tells of every change',
      access: mayRead,
      params: DocumentId,
      status: 200,
      response: DocumentView,
      hasETag: true,
      errors: ['not_found'],
      handler: async ({ caller, params, reply }) => {
        const { document, revision } = await documents.get(caller, params.id);
        reply.set('ETag', etagOf(revision));
        return document;
      },
    }),
    route({
      method: 'get',
      path: '/v1/documents/:id/hash',
      aliases: ['/api/v1/documents/:id/hash'],
      tag,
      summary: 'The hash of the encrypted file as the server computed it',
      access: mayRead,
      params: DocumentId,
      status: 200,
      response: DocumentHash,
      errors: ['not_found'],
      handler: async ({ caller, params }) => {
        const { document } = await documents.get(caller, params.id);
        return { hash: document.fileHash, algorithm: 'SHA3-256' as const };
      },
    }),
    route({
      method: 'delete',
      path: '/v1/documents/:id',
      aliases: ['/api/v1/documents/:id'],
      tag,
      summary: 'Deletes a document of which no version is sealed',
      access: mayWrite,
      params: DocumentId,
      status: 204,
      response: undefined,
      errors: ['not_found', 'audit_backlog_full'],
      forbids: ['document_sealed'],
      handler: ({ caller, params, request }) =>
        documents.remove(caller, params.id, request.serverId),
    }),
    route({
      method: 'post',
      path: '/v1/documents/:id/certify',
      aliases: ['/api/v1/documents/:id/certify'],
      tag,
      summary: 'Seals the current version of a document and answers its signed proof',
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
      handler: ({ caller, params, request }) =>
        certification.certify(caller, params.id, request.serverId),
    }),
  ];
}
