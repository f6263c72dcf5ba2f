import { etagOf, parseIfMatch } from '../http/answers/precondition.ts';
import { route, type Route } from '../http/routing/route.ts';
import type { SharingKeys } from './keys.ts';
import { SharingKeyChange, SharingKeyView } from './schema.ts';

const tag = 'Sharing';
const access = { scopes: ['keys:manage'] };
const path = '/v1/crypto/keys/sharing';

interface SharingKeyRoutesOptions {
  readonly sharingKeys: SharingKeys;
}

export function createSharingKeyRoutes({ sharingKeys }: SharingKeyRoutesOptions): Route[] {
  return [
    route({
      method: 'put',
      path,
      tag,
      summary: 'Stores the key pair by which others share with the caller; If-Match to replace it',
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
      handler: async ({ caller, body, request, reply }) => {
        const ifMatch = parseIfMatch(request.headers['if-match']);
        const key = await sharingKeys.put(caller, body, ifMatch, request.serverId);
        reply.set('ETag', etagOf(key.version));
        return key;
      },
    }),
    route({
      method: 'get',
      path,
      tag,
      summary: 'The key pair by which others share with the caller',
      access,
      status: 200,
      response: SharingKeyView,
      hasETag: true,
      noStore: true,
      errors: ['not_found'],
      handler: async ({ caller, reply }) => {
        const key = await sharingKeys.get(caller);
        reply.set('ETag', etagOf(key.version));
        return key;
      },
    }),
  ];
}
