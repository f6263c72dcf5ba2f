import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../async/clock.ts';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { AppError } from '../errors/app-error.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { AccessTokens } from '../tokens/access-token.ts';
import type { Act, Acted } from '../audit-trail/act.ts';
import { byOwner } from '../audit-trail/event.ts';
import { hashRefreshToken, issueRefreshToken, refreshTokenExpiry } from './refresh-token-rows.ts';
import type { Revocations } from './revocations.ts';
import { tokenPair, type TokenPair } from './token-pair.ts';

interface TokenRefreshOptions {
  readonly accounts: Accounts;
  readonly tokens: AccessTokens;
  readonly revocations: Revocations;
  readonly act: Act;
  readonly clock: Clock;
}

interface OpenSession extends Owner {
  readonly id: string;
}

const refused = { answer: undefined, events: [] } as const;

/** A refresh works even while the audit backlog is full. */
const always = { evenWithFullBacklog: true } as const;

export type TokenRefresh = ReturnType<typeof createTokenRefresh>;

/** Creates the service that rotates refresh tokens: each refresh token can be used only once. */
export function createTokenRefresh(options: TokenRefreshOptions) {
  const { accounts, tokens, revocations, act, clock } = options;

  /**
   * Locks the login session that a refresh token may refresh, and resolves with the session.
   * Resolves with undefined if the token must be refused. If the token was used before, also
   * revokes its session.
   */
  async function lockSession(tx: Tx, tokenHash: string): Promise<Acted<OpenSession | undefined>> {
    const session = await lockSessionOf(tx, tokenHash);
    if (session === undefined || session.revokedAt !== null) return refused;
    const token = await tx
      .selectFrom('refresh_tokens')
      .select(['used_at as usedAt', 'expires_at as expiresAt'])
      .where('token_hash', '=', tokenHash)
      .executeTakeFirst();
    if (token === undefined) return refused;
    if (token.usedAt === null) {
      return token.expiresAt > clock() ? { answer: session, events: [] } : refused;
    }
    await revocations.revoke(tx, session.id);
    return { answer: undefined, events: [reused(session)] };
  }

  async function rotate(tx: Tx, tokenHash: string): Promise<Acted<string | undefined>> {
    const { answer: session, events } = await lockSession(tx, tokenHash);
    if (session === undefined) return { answer: undefined, events };
    const now = clock();
    await tx
      .updateTable('refresh_tokens')
      .set({ used_at: now })
      .where('token_hash', '=', tokenHash)
      .execute();
    const refreshToken = await issueRefreshToken(tx, session.id, now);
    await tx
      .updateTable('login_sessions')
      .set({ last_used_at: now, expires_at: refreshTokenExpiry(now) })
      .where('id', '=', session.id)
      .execute();
    const event = {
      action: 'auth.refreshed',
      ...byOwner(session),
      resource: { type: 'session', id: session.id },
      data: {},
    } as const;
    return { answer: refreshToken, events: [event] };
  }

  return {
    /**
     * Returns a new pair of tokens with the account's present rights. If the refresh token was used
     * before, ends its session, since the token may have been stolen. Throws invalid_refresh_token
     * if the token is unknown, expired or already used, or its session or account is no longer
     * active. Throws SignerUnavailable if the HSM is unavailable; the token then remains usable.
     */
    async refresh(request: ServiceRequest<undefined>, refreshToken: string): Promise<TokenPair> {
      const tokenHash = hashRefreshToken(refreshToken);
      const session = orRefuse(
        await act.asService(request, (tx) => lockSession(tx, tokenHash), always),
      );
      const account = orRefuse(await accounts.findActiveById(session.userId));
      // A session stays in its tenant: a user who moves to another tenant must log in again.
      if (account.tenantId !== session.tenantId) throw new AppError('invalid_refresh_token');
      const accessToken = await tokens.issue({ ...account, sessionId: session.id });
      const next = orRefuse(await act.asService(request, (tx) => rotate(tx, tokenHash), always));
      return tokenPair(accessToken, next);
    },
  };
}

function reused({ id, userId, tenantId }: OpenSession) {
  return {
    action: 'auth.refresh_reused',
    actor: { type: 'anonymous', id: null },
    owner: { userId, tenantId },
    outcome: 'failure',
    resource: { type: 'session', id },
    data: {},
  } as const;
}

/**
 * Locks the login session of a refresh token before any of the session's tokens. The removal of
 * sessions uses the same order, so that the two cannot deadlock.
 */
function lockSessionOf(tx: Tx, tokenHash: string) {
  takesLock(tx, 'login session');
  return tx
    .selectFrom('login_sessions')
    .select(['id', 'user_id as userId', 'tenant_id as tenantId', 'revoked_at as revokedAt'])
    .where('id', '=', ({ selectFrom }) =>
      selectFrom('refresh_tokens').select('session_id').where('token_hash', '=', tokenHash),
    )
    .forUpdate()
    .executeTakeFirst();
}

function orRefuse<T>(value: T | undefined): T {
  if (value === undefined) throw new AppError('invalid_refresh_token');
  return value;
}
