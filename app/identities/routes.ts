import { etagOf, parseIfMatch } from '../http/responses/precondition.ts';
import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { routeFor } from '../http/routing/route.ts';
import type { FreshProofs } from '../sessions/fresh-proof.ts';
import type { Identities } from './identities.ts';
import { SharingKeyChange, SharingKeyView } from './schema.ts';

const tag = 'Sharing';
const access = { scopes: ['keys:manage'] };
const path = '/v1/crypto/keys/sharing';

interface IdentityServices {
  readonly identities: Identities;
  readonly freshProofs: FreshProofs;
}

const route = routeFor<IdentityServices>();

export const identityRoutes = [
  route({
    method: 'put',
    path,
    operation: 'putSharingKey',
    tag,
    summary:
      'Stores the key pair with which the caller receives shares; If-Match replaces it and keeps ' +
      'the former for 30 days',
    access: { ...access, freshProof: 'to replace a key pair' },
    body: SharingKeyChange,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: SharingKeyView,
    hasETag: true,
    noStore: true,
    errors: [
      'invalid_request',
      'identity_unproven',
      'precondition_required',
      'precondition_failed',
      'quota_exceeded',
      'audit_backlog_full',
    ],
    audit: { actions: ['sharing_key.changed'] },
    handler: async ({ identities, freshProofs }, { request, body, http, reply }) => {
      const ifMatch = parseIfMatch(http.headers['if-match']);
      const proof = await freshProofs.read(request.caller, http.headers);
      const key = await identities.put(request, body, { ifMatch, proof });
      reply.set('ETag', etagOf(key.version));
      return key;
    },
  }),
  route({
    method: 'get',
    path,
    operation: 'getSharingKey',
    tag,
    summary: 'Returns the key pair with which the caller receives shares',
    access,
    status: 200,
    response: SharingKeyView,
    hasETag: true,
    noStore: true,
    errors: ['not_found'],
    handler: async ({ identities }, { request, reply }) => {
      const key = await identities.get(request);
      reply.set('ETag', etagOf(key.version));
      return key;
    },
  }),
];
