import type { Accounts } from '../accounts/accounts.ts';
import { byOwner } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database, Owner, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { AccessTokens } from '../tokens/access-token.ts';
import { hashRefreshToken, issueRefreshToken, refreshTokenExpiry } from './refresh-tokens.ts';
import type { Revocations } from './revocations.ts';
import { tokenPair, type TokenPair } from './token-pair.ts';

/** Refresh tokens are rotated: each is used once, and every rotation leaves an audit entry. */
export interface TokenRefresh {
  /**
   * A new pair, with what the account may do now. A used token that comes again ends its session:
   * one of the two who sent it stole it. Throws invalid_refresh_token, whatever is wrong with it, or
   * SignerUnavailable, which uses nothing up.
   */
  refresh(refreshToken: string, requestId: string): Promise<TokenPair>;
}

interface TokenRefreshOptions {
  readonly accounts: Accounts;
  readonly tokens: AccessTokens;
  readonly revocations: Revocations;
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly clock: Clock;
}

interface OpenSession extends Owner {
  readonly id: string;
}

export function createTokenRefresh(options: TokenRefreshOptions): TokenRefresh {
  const { accounts, tokens, revocations, db, audit, clock } = options;

  /** The session that the token may refresh, locked; a used token ends it. */
  async function hold(
    tx: Tx,
    tokenHash: string,
    requestId: string,
  ): Promise<OpenSession | undefined> {
    // The session before its tokens, as where both are removed.
    const session = await tx
      .selectFrom('login_sessions')
      .select(['id', 'user_id as userId', 'tenant_id as tenantId', 'revoked_at as revokedAt'])
      .where('id', '=', ({ selectFrom }) =>
        selectFrom('refresh_tokens').select('session_id').where('token_hash', '=', tokenHash),
      )
      .forUpdate()
      .executeTakeFirst();
    if (session === undefined || session.revokedAt !== null) return undefined;
    const token = await tx
      .selectFrom('refresh_tokens')
      .select(['used_at as usedAt', 'expires_at as expiresAt'])
      .where('token_hash', '=', tokenHash)
      .executeTakeFirst();
    if (token === undefined) return undefined;
    if (token.usedAt === null) return token.expiresAt > clock() ? session : undefined;
    await revocations.revoke(tx, session.id);
    await audit.append(tx, {
      action: 'auth.refresh_reused',
      actor: { type: 'anonymous', id: null },
      owner: { userId: session.userId, tenantId: session.tenantId },
      outcome: 'failure',
      resource: { type: 'session', id: session.id },
      requestId,
      data: {},
    });
    return undefined;
  }

  async function rotate(tx: Tx, tokenHash: string, requestId: string): Promise<string | undefined> {
    const session = await hold(tx, tokenHash, requestId);
    if (session === undefined) return undefined;
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
    await audit.append(tx, {
      action: 'auth.refreshed',
      ...byOwner(session, requestId),
      resource: { type: 'session', id: session.id },
      data: {},
    });
    return refreshToken;
  }

  return {
    async refresh(refreshToken, requestId) {
      const tokenHash = hashRefreshToken(refreshToken);
      const session = orRefuse(await db.asService((tx) => hold(tx, tokenHash, requestId)));
      const account = orRefuse(await accounts.findActiveById(session.userId));
      // A session stays in its tenant: who moves to another one logs in again.
      if (account.tenantId !== session.tenantId) throw new AppError('invalid_refresh_token');
      const accessToken = await tokens.issue({ ...account, sessionId: session.id });
      const next = orRefuse(await db.asService((tx) => rotate(tx, tokenHash, requestId)));
      return tokenPair(accessToken, next);
    },
  };
}

function orRefuse<T>(value: T | undefined): T {
  if (value === undefined) throw new AppError('invalid_refresh_token');
  return value;
}
