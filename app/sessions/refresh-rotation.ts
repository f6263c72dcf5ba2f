import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../async/clock.ts';
import { createFairSlots } from '../async/fair-slots.ts';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { AppError } from '../errors/app-error.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { AccessTokens } from '../tokens/access-token.ts';
import type { Act, Acted } from '../audit-trail/act.ts';
import { byOwner } from '../audit-trail/event.ts';
import {
  findRefreshToken,
  hashRefreshToken,
  refreshTokenExpiry,
  replaceRefreshToken,
} from './refresh-token-rows.ts';
import type { Revocations } from './revocations.ts';
import { tokenPair, type TokenPair } from './token-pair.ts';

interface TokenRefreshOptions {
  readonly accounts: Accounts;
  readonly tokens: AccessTokens;
  readonly revocations: Revocations;
  readonly limits: RateLimits;
  readonly act: Act;
  readonly clock: Clock;
}

interface OpenSession extends Owner {
  readonly id: string;
}

/** A login session that a refresh token may refresh. */
interface Refreshable extends OpenSession {
  /** Whether the token came again, because the response to its first use was lost. */
  readonly isRepeated: boolean;
}

/** A refresh token as it was presented. */
interface Presented {
  readonly tokenHash: string;
  readonly at: Date;
}

/**
 * Milliseconds after its first use within which a refresh token may come again, if its successor is
 * unused: the response was lost, and nobody else has used what it held.
 */
const repeatableMs = 10_000;

const refused = { answer: undefined, events: [] } as const;

/** A refresh works even while the audit backlog is full. */
const always = { evenWithFullBacklog: true } as const;

export type TokenRefresh = ReturnType<typeof createTokenRefresh>;

/** Creates the service that rotates refresh tokens: one of each session is good at any time. */
export function createTokenRefresh(options: TokenRefreshOptions) {
  const { accounts, tokens, revocations, limits, act, clock } = options;
  // Concurrent uses of one token wait here and not at its row, where each holds a connection.
  const turns = createFairSlots({ perKey: 1 });

  /**
   * Locks the login session that a refresh token may refresh, and resolves with the session.
   * Resolves with undefined if the token must be refused. If the token was used before and cannot
   * be repeated, also revokes its session.
   */
  async function lockSession(
    tx: Tx,
    { tokenHash, at }: Presented,
  ): Promise<Acted<Refreshable | undefined>> {
    const session = await lockSessionOf(tx, tokenHash);
    if (session === undefined || session.revokedAt !== null) return refused;
    const token = await findRefreshToken(tx, tokenHash);
    if (token === undefined) return refused;
    const { use } = token;
    if (use === undefined) {
      if (token.expiresAt <= at) return refused;
      return { answer: { ...session, isRepeated: false }, events: [] };
    }
    const isRepeatable =
      use !== 'replaced' &&
      !use.isSuccessorUsed &&
      at.getTime() - use.usedAt.getTime() <= repeatableMs;
    if (isRepeatable) return { answer: { ...session, isRepeated: true }, events: [] };
    await revocations.revoke(tx, session, session.id);
    return { answer: undefined, events: [reused(session)] };
  }

  async function rotate(tx: Tx, presented: Presented): Promise<Acted<string | undefined>> {
    const { answer: session, events } = await lockSession(tx, presented);
    if (session === undefined) return { answer: undefined, events };
    const now = clock();
    const refreshToken = await replaceRefreshToken(tx, session.id, presented.tokenHash, now);
    await tx
      .updateTable('login_sessions')
      .set({ last_used_at: now, expires_at: refreshTokenExpiry(now) })
      .where('id', '=', session.id)
      .execute();
    const event = {
      action: 'auth.refreshed',
      ...byOwner(session),
      resource: { type: 'session', id: session.id },
      data: session.isRepeated ? { isRepeated: true } : {},
    } as const;
    return { answer: refreshToken, events: [event] };
  }

  async function refresh(
    request: ServiceRequest<undefined>,
    presented: Presented,
  ): Promise<TokenPair> {
    const session = orRefuse(
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
     * Throws invalid_refresh_token if the token is unknown, expired or already used, or its session
     * or account is no longer active. Throws rate_limited, and SignerUnavailable if the HSM is
     * unavailable; the token then remains usable.
     */
    async refresh(request: ServiceRequest<undefined>, refreshToken: string): Promise<TokenPair> {
      const presented = { tokenHash: hashRefreshToken(refreshToken), at: clock() };
      return turns.take(presented.tokenHash, () => refresh(request, presented));
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
