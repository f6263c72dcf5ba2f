import { AppError } from '../errors/app-error.ts';
import { linkNextPage } from '../http/responses/next-page.ts';
import { Uuid } from '../http/bodies/wire.ts';
import { smallBodyBytes } from '../http/bodies/json-body.ts';
import { listBytes } from '../http/responses/page.ts';
import { routeFor } from '../http/routing/route.ts';
import type { LoginSessions } from './login-sessions.ts';
import { RefreshRequest, SessionId, SessionList, SessionPage, TokenPair } from './schema.ts';
import type { TokenRefresh } from './refresh-rotation.ts';

const tag = 'Login';
/**
 * Requires the role `user`, which accounts have. A token for a single purpose, such as the token of
 * a recovery login, has no role.
 */
const mayManageSessions = { roles: ['user'] } as const;

interface SessionServices {
  readonly loginSessions: LoginSessions;
  readonly tokenRefresh: TokenRefresh;
}

const route = routeFor<SessionServices>();

/** The routes that refresh, list and end login sessions. */
export const sessionRoutes = [
  route({
    method: 'post',
    path: '/v1/auth/refresh',
    operation: 'refreshTokens',
    aliases: ['/api/v1/auth/refresh'],
    tag,
    summary: 'Exchanges a refresh token, which is used up, for a new pair of tokens',
    access: 'public',
    body: RefreshRequest,
    maxBodyBytes: smallBodyBytes,
    status: 200,
    response: TokenPair,
    noStore: true,
    errors: ['invalid_refresh_token', 'rate_limited', 'signer_unavailable'],
    audit: { actions: ['auth.refreshed', 'auth.refresh_reused'] },
    handler: ({ tokenRefresh }, { request, body }) =>
      tokenRefresh.refresh(request, body.refreshToken),
  }),
  route({
    method: 'post',
    path: '/v1/auth/logout',
    operation: 'logout',
    aliases: ['/api/v1/auth/logout'],
    tag,
    summary: 'Ends the login session of the access token',
    access: mayManageSessions,
    status: 204,
    response: undefined,
    noStore: true,
    errors: ['not_found'],
    audit: { actions: ['auth.session_revoked'] },
    handler: async ({ loginSessions }, { request }) => {
      // A session of another issuer may have an id that is no UUID; only its issuer can end the
      // session.
      const sessionId = Uuid.safeParse(request.caller.sessionId);
      if (!sessionId.success) throw new AppError('not_found');
      await loginSessions.end(request, sessionId.data);
    },
  }),
  route({
    method: 'get',
    path: '/v1/auth/sessions',
    operation: 'listLoginSessions',
    aliases: ['/api/v1/auth/sessions'],
    tag,
    summary: 'Lists the caller’s login sessions that have not ended, newest first',
    access: mayManageSessions,
    query: SessionPage,
    status: 200,
    response: SessionList,
    maxAnswerBytes: listBytes,
    noStore: true,
    errors: [],
    handler: async ({ loginSessions }, { request, query, reply }) => {
      const { sessions, cursor } = await loginSessions.list(request, query);
      linkNextPage(reply, query, cursor);
      return sessions;
    },
  }),
  route({
    method: 'delete',
    path: '/v1/auth/sessions/:id',
    operation: 'endLoginSession',
    aliases: ['/api/v1/auth/sessions/:id'],
    tag,
    summary: 'Ends a login session of the caller',
    access: mayManageSessions,
    params: SessionId,
    status: 204,
    response: undefined,
    noStore: true,
    errors: ['not_found'],
    audit: { actions: ['auth.session_revoked'] },
    handler: ({ loginSessions }, { request, params }) => loginSessions.end(request, params.id),
  }),
];
