import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../async/clock.ts';
import { createFairSlots } from '../async/fair-slots.ts';
import type { Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { AccessTokens } from '../tokens/access-token.ts';
import type { Act, Acted } from '../audit-trail/act.ts';
import { byOwner } from '../audit-trail/event.ts';
import type { PresentedToken, RefreshTokens } from './refresh-tokens/refresh-token.ts';
import {
  judgeToken,
  lockTokenSession,
  replaceToken,
  type TokenSession,
} from './refresh-tokens/token-rows.ts';
import type { Revocations } from './revocations.ts';
import { tokenPair, type TokenPair } from './token-pair.ts';

interface TokenRefreshOptions {
  readonly accounts: Accounts;
  readonly tokens: AccessTokens;
  readonly refreshTokens: RefreshTokens;
  readonly revocations: Revocations;
  readonly limits: RateLimits;
  readonly act: Act;
  readonly clock: Clock;
}

/** A login session that a refresh token may refresh. */
interface Refreshable {
  readonly session: TokenSession;
  /** Whether the token came again, because the response to its first use was lost. */
  readonly isRepeated: boolean;
}

/** A refresh token, and when it was presented. */
interface Presented {
  readonly token: PresentedToken;
  readonly at: Date;
}

const refused = { answer: undefined, events: [] } as const;

/** A refresh works even while the audit backlog is full. */
const always = { evenWithFullBacklog: true } as const;

export type TokenRefresh = ReturnType<typeof createTokenRefresh>;

/** Creates the service that rotates refresh tokens: one of each session is good at any time. */
export function createTokenRefresh(options: TokenRefreshOptions) {
  const { accounts, tokens, refreshTokens, revocations, limits, act, clock } = options;
  // Concurrent uses of one token wait here and not at its row, where each holds a connection.
  const turns = createFairSlots({ perKey: 1 });

  /**
   * Locks the login session that a refresh token may refresh, and resolves with the session.
   * Resolves with undefined if the token must be refused. If the token was used before and cannot
   * be repeated, also revokes its session.
   */
  async function lockSession(
    tx: Tx,
    { token, at }: Presented,
  ): Promise<Acted<Refreshable | undefined>> {
    const session = await lockTokenSession(tx, token);
    if (session === undefined) return refused;
    const verdict = judgeToken(session, token, at);
    if (verdict === 'refused') return refused;
    if (verdict === 'reused') {
      await revocations.revoke(tx, session, session.id);
      return { answer: undefined, events: [reused(session)] };
    }
    return { answer: { session, isRepeated: verdict === 'repeated' }, events: [] };
  }

  async function rotate(tx: Tx, presented: Presented): Promise<Acted<string | undefined>> {
    const { answer: locked, events } = await lockSession(tx, presented);
    if (locked === undefined) return { answer: undefined, events };
    const { session, isRepeated } = locked;
    const now = clock();
    const refreshToken = await replaceToken(tx, refreshTokens, session, { isRepeated, now });
    const event = {
      action: 'auth.refreshed',
      ...byOwner(session),
      resource: { type: 'session', id: session.id },
      data: isRepeated ? { isRepeated: true } : {},
    } as const;
    return { answer: refreshToken, events: [event] };
  }

  async function refresh(
    request: ServiceRequest<undefined>,
    presented: Presented,
  ): Promise<TokenPair> {
    const { session } = orRefuse(
      await act.asService(request, (tx) => lockSession(tx, presented), always),
    );
    const account = orRefuse(await accounts.findActiveById(session.userId));
    // A session stays in its tenant: a user who moves to another tenant must log in again.
    if (account.tenantId !== session.tenantId) throw new AppError('invalid_refresh_token');
    await limits.consume('refresh-account', account.userId);
    const accessToken = await tokens.issue({ ...account, sessionId: session.id });
    const next = orRefuse(await act.asService(request, (tx) => rotate(tx, presented), always));
    return tokenPair(accessToken, next);
  }

  return {
    /**
     * Returns a new pair of tokens with the account's present rights. A refresh token that comes
     * again within 10 s, while its successor is unused, gets a new successor in that one's place.
     * If it comes again in any other case, ends its session, since the token may have been stolen.
     * Throws invalid_refresh_token if the token is forged, expired or already used, or its session
     * or account is no longer active. Throws rate_limited, and SignerUnavailable if the HSM is
     * unavailable; the token then remains usable.
     */
    async refresh(request: ServiceRequest<undefined>, refreshToken: string): Promise<TokenPair> {
      const token = orRefuse(refreshTokens.parse(refreshToken));
      const presented = { token, at: clock() };
      return turns.take(token.hash.toString('base64'), () => refresh(request, presented));
    },
  };
}

function reused({ id, userId, tenantId }: TokenSession) {
  return {
    action: 'auth.refresh_reused',
    actor: { type: 'anonymous', id: null },
    owner: { userId, tenantId },
    outcome: 'failure',
    resource: { type: 'session', id },
    data: {},
  } as const;
}

function orRefuse<T>(value: T | undefined): T {
  if (value === undefined) throw new AppError('invalid_refresh_token');
  return value;
}
