import { mayRead, mayWrite } from '../documents/records/access.ts';
import { DocumentId } from '../documents/records/schema.ts';
import { linkNextPage } from '../http/responses/next-page.ts';
import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { Recipients } from './recipients.ts';
import {
  CreateShare,
  ReceivedShareId,
  SharedList,
  ShareId,
  ShareKey,
  ShareKeyRequest,
  ShareList,
  SharePage,
  ShareView,
} from './schema.ts';
import type { Sharing } from './sharing.ts';
import { AuthorStatement, statementBodyBytes } from '../statements/schema.ts';

const tag = 'Sharing';

const route = routeFor<{ readonly recipients: Recipients; readonly sharing: Sharing }>();

export const sharingRoutes = [
  route({
    method: 'post',
    path: '/v1/documents/share-key',
    operation: 'findRecipientKey',
    aliases: ['/api/v1/documents/share-key'],
    tag,
    summary: 'Returns the public keys of a recipient, or decoys that look like them',
    access: mayWrite,
    body: ShareKeyRequest,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: ShareKey,
    noStore: true,
    errors: ['rate_limited', 'quota_exceeded', 'signer_unavailable'],
    audit: { actions: [], note: 'it only finds a recipient; the entry of the share names it' },
    handler: async ({ recipients }, { request, body }) => {
      const { identity, ...recipient } = await recipients.find(request, body.recipientEmail);
      return { ...recipient, ...identity };
    },
  }),
  route({
    method: 'get',
    path: '/v1/documents/shared',
    operation: 'listReceivedShares',
    aliases: ['/api/v1/documents/shared'],
    tag,
    summary: 'Lists the documents that others share with the caller, newest share first',
    access: mayRead,
    query: SharePage,
    status: 200,
    response: SharedList,
    maxAnswerBytes: listBytes,
    noStore: true,
    errors: [],
    handler: async ({ sharing }, { request, query, reply }) => {
      const { documents, cursor } = await sharing.listReceived(request, query);
      linkNextPage(reply, query, cursor);
      return documents;
    },
  }),
  route({
    method: 'delete',
    path: '/v1/documents/shared/:shareId',
    operation: 'removeReceivedShare',
    aliases: ['/api/v1/documents/shared/:shareId'],
    tag,
    summary: 'Removes a share from the list of its recipient',
    access: mayWrite,
    params: ReceivedShareId,
    status: 204,
    response: undefined,
    errors: ['not_found', 'audit_backlog_full'],
    audit: { actions: ['share.removed'] },
    handler: ({ sharing }, { request, params }) => sharing.removeReceived(request, params.shareId),
  }),
  route({
    method: 'post',
    path: '/v1/documents/:id/share',
    operation: 'shareDocument',
    aliases: ['/api/v1/documents/:id/share'],
    tag,
    summary: 'Shares a document with a recipient, who may or may not exist',
    access: mayWrite,
    params: DocumentId,
    body: CreateShare,
    maxBodyBytes: statementBodyBytes,
    idempotent: true,
    status: 201,
    response: ShareView,
    errors: [
      'not_found',
      'statement_invalid',
      'share_exists',
      'rate_limited',
      'quota_exceeded',
      'signer_unavailable',
      'audit_backlog_full',
    ],
    audit: { actions: ['document.shared', 'document.unshared'] },
    handler: ({ sharing }, { request, params, body }) => sharing.share(request, params.id, body),
  }),
  route({
    method: 'get',
    path: '/v1/documents/:id/shares',
    operation: 'listShares',
    aliases: ['/api/v1/documents/:id/shares'],
    tag,
    summary: 'Lists the shares of a document of the caller, newest first',
    access: mayRead,
    params: DocumentId,
    query: SharePage,
    status: 200,
    response: ShareList,
    maxAnswerBytes: listBytes,
    errors: ['not_found'],
    handler: async ({ sharing }, { request, params, query, reply }) => {
      const { shares, cursor } = await sharing.list(request, params.id, query);
      linkNextPage(reply, query, cursor);
      return shares;
    },
  }),
  route({
    method: 'delete',
    path: '/v1/documents/:id/shares/:shareId',
    operation: 'endShare',
    aliases: ['/api/v1/documents/:id/shares/:shareId'],
    tag,
    summary: 'Ends a share at once',
    access: mayWrite,
    params: ShareId,
    body: AuthorStatement.optional(),
    maxBodyBytes: statementBodyBytes,
    isBodyOptional: true,
    status: 204,
    response: undefined,
    errors: ['not_found', 'statement_invalid'],
    audit: { actions: ['document.unshared'] },
    handler: ({ sharing }, { request, params, body: stated }) =>
      sharing.unshare(request, { ...params, stated }),
  }),
];
