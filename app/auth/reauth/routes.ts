import { smallBodyBytes } from '../../http/bodies/json-body.ts';
import { routeFor } from '../../http/routing/route.ts';
import type { Reauth } from './reauth.ts';
import { Reauthenticated, ReauthRequest } from './schema.ts';

const route = routeFor<{ readonly reauth: Reauth }>();

export const reauthRoutes = [
  route({
    method: 'post',
    path: '/v1/auth/reauth',
    operation: 'reauthenticate',
    aliases: ['/auth/reauth', '/api/v1/auth/reauth'],
    tag: 'Login',
    summary: 'Takes the password or an SRP proof of it; returns an X-Reauth-Token for five minutes',
    access: { roles: ['user'] },
    body: ReauthRequest,
    maxBodyBytes: smallBodyBytes,
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
      'identity_provider_unavailable',
      'cache_unavailable',
      'signer_unavailable',
      'audit_backlog_full',
    ],
    audit: { actions: ['auth.reauthenticated', 'auth.login_failed'] },
    handler: ({ reauth }, { request, body }) => reauth.reauthenticate(request, body),
  }),
];
