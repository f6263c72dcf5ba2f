import { AppError } from '../errors/app-error.ts';
import { linkNextPage } from '../http/answers/next-page.ts';
import { route, type Route } from '../http/routing/route.ts';
import { Uuid } from '../http/bodies/wire.ts';
import type { LoginSessions } from './login-sessions.ts';
import { RefreshRequest, SessionId, SessionList, SessionPage, TokenPair } from './schema.ts';
import type { TokenRefresh } from './token-refresh.ts';

const tag = 'Sessions';
/** Every account has this role, and a token that is good for one thing alone has none. */
const mayManageSessions = { roles: ['user'] } as const;

interface SessionRoutesOptions {
  readonly loginSessions: LoginSessions;
  readonly tokenRefresh: TokenRefresh;
}

/** What keeps a login open, shows it and ends it. */
export function createSessionRoutes(options: SessionRoutesOptions): Route[] {
  const { loginSessions, tokenRefresh } = options;
  return [
    route({
      method: 'post',
      path: '/v1/auth/refresh',
      aliases: ['/api/v1/auth/refresh'],
      tag,
      summary: 'A new pair of tokens for a refresh token, which is used up',
      access: 'public',
      body: RefreshRequest,
      status: 200,
      response: TokenPair,
      noStore: true,
      errors: ['invalid_refresh_token', 'signer_unavailable'],
      handler: ({ body, request }) => tokenRefresh.refresh(body.refreshToken, request.serverId),
    }),
    route({
      method: 'post',
      path: '/v1/auth/logout',
      aliases: ['/api/v1/auth/logout'],
      tag,
      summary: 'Ends the session of the access token',
      access: mayManageSessions,
      status: 204,
      response: undefined,
      noStore: true,
      errors: ['not_found'],
      handler: async ({ caller, request }) => {
        // Other issuers name their sessions as they like, and end them themselves.
        const sessionId = Uuid.safeParse(caller.sessionId);
        if (!sessionId.success) throw new AppError('not_found');
        await loginSessions.end(caller, sessionId.data, request.serverId);
      },
    }),
    route({
      method: 'get',
      path: '/v1/auth/sessions',
      aliases: ['/api/v1/auth/sessions'],
      tag,
      summary: 'The sessions of the caller that have not ended, newest first',
      access: mayManageSessions,
      query: SessionPage,
      status: 200,
      response: SessionList,
      noStore: true,
      errors: [],
      handler: async ({ caller, query, reply }) => {
        const { sessions, cursor } = await loginSessions.list(caller, query);
        linkNextPage(reply, '/v1/auth/sessions', query, cursor);
        return sessions;
      },
    }),
    route({
      method: 'delete',
      path: '/v1/auth/sessions/:id',
      aliases: ['/api/v1/auth/sessions/:id'],
      tag,
      summary: 'Ends a session of the caller',
      access: mayManageSessions,
      params: SessionId,
      status: 204,
      response: undefined,
      noStore: true,
      errors: ['not_found'],
      handler: ({ caller, params, request }) =>
        loginSessions.end(caller, params.id, request.serverId),
    }),
  ];
}
