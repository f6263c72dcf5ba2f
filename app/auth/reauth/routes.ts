import { originOf } from '../../http/requests/request.ts';
import { route, type Route } from '../../http/routing/route.ts';
import type { Reauth } from './reauth.ts';
import { Reauthenticated, ReauthRequest } from './schema.ts';

export function createReauthRoutes({ reauth }: { readonly reauth: Reauth }): Route[] {
  return [
    route({
      method: 'post',
      path: '/v1/auth/reauth',
      aliases: ['/auth/reauth', '/api/v1/auth/reauth'],
      tag: 'Authentication',
      summary: 'The password, or an SRP proof of it, for an X-Reauth-Token of five minutes',
      access: { roles: ['user'] },
      body: ReauthRequest,
      status: 200,
      response: Reauthenticated,
      noStore: true,
      errors: [
        'invalid_public_value',
        'invalid_credentials',
        'srp_session_expired',
        'invalid_proof',
        'reauth_password_refused',
        'rate_limited',
        'reauth_busy',
        'cache_unavailable',
        'signer_unavailable',
        'audit_backlog_full',
      ],
      handler: ({ caller, body, request }) =>
        reauth.reauthenticate(caller, body, originOf(request)),
    }),
  ];
}
