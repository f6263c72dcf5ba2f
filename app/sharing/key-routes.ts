import { etagOf, parseIfMatch } from '../http/responses/precondition.ts';
import { routeFor } from '../http/routing/route.ts';
import type { SharingKeys } from './keys.ts';
import { SharingKeyChange, SharingKeyView } from './schema.ts';

const tag = 'Sharing';
const access = { scopes: ['keys:manage'] };
const path = '/v1/crypto/keys/sharing';

const route = routeFor<{ readonly sharingKeys: SharingKeys }>();

export const sharingKeyRoutes = [
  route({
    method: 'put',
    path,
    tag,
    summary: 'Stores the key pair with which the caller receives shares; If-Match replaces it',
    access,
    body: SharingKeyChange,
    status: 200,
    response: SharingKeyView,
    hasETag: true,
    noStore: true,
    errors: [
      'invalid_request',
      'precondition_required',
      'precondition_failed',
      'audit_backlog_full',
    ],
    audit: { actions: ['sharing_key.changed'] },
    handler: async ({ sharingKeys }, { request, body, http, reply }) => {
      const ifMatch = parseIfMatch(http.headers['if-match']);
      const key = await sharingKeys.put(request, body, ifMatch);
      reply.set('ETag', etagOf(key.version));
      return key;
    },
  }),
  route({
    method: 'get',
    path,
    tag,
    summary: 'Returns the key pair with which the caller receives shares',
    access,
    status: 200,
    response: SharingKeyView,
    hasETag: true,
    noStore: true,
    errors: ['not_found'],
    handler: async ({ sharingKeys }, { request, reply }) => {
      const key = await sharingKeys.get(request);
      reply.set('ETag', etagOf(key.version));
      return key;
    },
  }),
];
