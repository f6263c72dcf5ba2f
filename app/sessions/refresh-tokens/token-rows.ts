import type { Owner, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { refreshTokenExpiry, type PresentedToken, type RefreshTokens } from './refresh-token.ts';

/** A login session with what is stored of its refresh tokens. */
export interface TokenSession extends Owner {
  readonly id: string;
  readonly revokedAt: Date | null;
  /** When the good token expires. */
  readonly expiresAt: Date;
  /** The generation of the good token; 0 if the session never had one. */
  readonly generation: number;
  /** The hash of the good token. */
  readonly hash: Buffer | null;
  /** The hash of the token for which the good one was issued; null for the first generation. */
  readonly previousHash: Buffer | null;
  /** When that token was used for the first time. */
  readonly previousUsedAt: Date | null;
}

/** Locks the login session that a refresh token names. */
export function lockTokenSession(
  tx: Tx,
  { sessionId }: PresentedToken,
): Promise<TokenSession | undefined> {
  takesLock(tx, 'login session');
  return tx
    .selectFrom('login_sessions')
    .select([
      'id',
      'user_id as userId',
      'tenant_id as tenantId',
      'revoked_at as revokedAt',
      'expires_at as expiresAt',
      'refresh_generation as generation',
      'refresh_hash as hash',
      'previous_hash as previousHash',
      'previous_used_at as previousUsedAt',
    ])
    .where('id', '=', sessionId)
    .forUpdate()
    .executeTakeFirst();
}

/**
 * Judges a refresh token by the locked session that it names:
 *
 * - `good`: it is the newest one, and unused.
 * - `repeated`: it comes again within `repeatableMs` of its first use, and its successor is unused.
 * - `reused`: it was used or replaced before, so that two have it and the session must end.
 * - `refused`: it expired, its session was ended, or it is of a generation that the database does
 *   not know, since it was restored to an earlier state.
 */
export function judgeToken(
  session: TokenSession,
  { generation, hash }: PresentedToken,
  at: Date,
): 'good' | 'repeated' | 'reused' | 'refused' {
  if (session.revokedAt !== null || generation > session.generation) return 'refused';
  if (session.hash?.equals(hash) === true) return session.expiresAt > at ? 'good' : 'refused';
  const { previousHash, previousUsedAt } = session;
  const isRepeated =
    previousHash?.equals(hash) === true &&
    previousUsedAt !== null &&
    at.getTime() - previousUsedAt.getTime() <= repeatableMs;
  return isRepeated ? 'repeated' : 'reused';
}

/**
 * Milliseconds after its first use within which a refresh token may come again, if its successor is
 * unused: the response was lost, and nobody else has used what it held.
 */
const repeatableMs = 10_000;

/**
 * Uses up a refresh token of a locked session, and issues its successor. A repeated token gets
 * another successor in the place of the first one, and keeps the time of its first use.
 */
export async function replaceToken(
  tx: Tx,
  refreshTokens: RefreshTokens,
  session: TokenSession,
  { isRepeated, now }: { readonly isRepeated: boolean; readonly now: Date },
): Promise<string> {
  const generation = isRepeated ? session.generation : session.generation + 1;
  const { refreshToken, hash } = refreshTokens.issue(session.id, generation);
  const used = isRepeated ? {} : { previous_hash: session.hash, previous_used_at: now };
  await tx
    .updateTable('login_sessions')
    .set({
      refresh_generation: generation,
      refresh_hash: hash,
      ...used,
      last_used_at: now,
      expires_at: refreshTokenExpiry(now),
    })
    .where('id', '=', session.id)
    .where('user_id', '=', session.userId)
    .where('tenant_id', '=', session.tenantId)
    .execute();
  return refreshToken;
}
