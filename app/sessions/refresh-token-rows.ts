import { createHash, randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';

const lifetimeMs = 30 * 86_400_000;

/**
 * Returns the time when a refresh token that is issued at `now` expires. Its login session expires
 * at the same time unless the session is refreshed.
 */
export function refreshTokenExpiry(now: Date): Date {
  return new Date(now.getTime() + lifetimeMs);
}

/**
 * Issues the next refresh token of a login session: the prefix `prt_`, by which scanners for leaked
 * secrets recognise it, and 32 random bytes in base64url. Only its hash is stored.
 */
export async function issueRefreshToken(tx: Tx, sessionId: string, now: Date): Promise<string> {
  const refreshToken = `prt_${randomBytes(32).toString('base64url')}`;
  await tx
    .insertInto('refresh_tokens')
    .values({
      token_hash: hashRefreshToken(refreshToken),
      session_id: sessionId,
      created_at: now,
      expires_at: refreshTokenExpiry(now),
    })
    .execute();
  return refreshToken;
}

/** A refresh token that was used, and the token that its last use returned. */
interface UsedToken {
  readonly usedAt: Date;
  readonly successorHash: string;
  readonly isSuccessorUsed: boolean;
}

interface StoredToken {
  readonly expiresAt: Date;
  /**
   * Undefined if the token was not used; `replaced` if it cannot be used any more, since its
   * predecessor came again and got another token.
   */
  readonly use: UsedToken | 'replaced' | undefined;
}

/** Finds a refresh token by its hash. */
export async function findRefreshToken(
  tx: Tx,
  tokenHash: string,
): Promise<StoredToken | undefined> {
  const row = await tx
    .selectFrom('refresh_tokens as token')
    .leftJoin('refresh_tokens as successor', 'successor.token_hash', 'token.successor_hash')
    .select([
      'token.expires_at as expiresAt',
      'token.used_at as usedAt',
      'token.successor_hash as successorHash',
      'successor.used_at as successorUsedAt',
    ])
    .where('token.token_hash', '=', tokenHash)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { expiresAt, usedAt, successorHash, successorUsedAt } = row;
  if (usedAt === null) return { expiresAt, use: undefined };
  if (successorHash === null) return { expiresAt, use: 'replaced' };
  return { expiresAt, use: { usedAt, successorHash, isSuccessorUsed: successorUsedAt !== null } };
}

/**
 * Uses a refresh token up, whose hash is `tokenHash`, and issues its successor. If the token was
 * used before, its present successor is used up too. The token's login session must be locked.
 */
export async function replaceRefreshToken(
  tx: Tx,
  sessionId: string,
  tokenHash: string,
  now: Date,
): Promise<string> {
  await tx
    .updateTable('refresh_tokens')
    .set({ used_at: now })
    .where('token_hash', '=', ({ selectFrom }) =>
      selectFrom('refresh_tokens').select('successor_hash').where('token_hash', '=', tokenHash),
    )
    .execute();
  const successor = await issueRefreshToken(tx, sessionId, now);
  await tx
    .updateTable('refresh_tokens')
    .set({
      used_at: sql<Date>`coalesce(used_at, ${now})`,
      successor_hash: hashRefreshToken(successor),
    })
    .where('token_hash', '=', tokenHash)
    .execute();
  return successor;
}

/**
 * Returns the SHA-256 of a refresh token in hex. One round is enough, since the tokens are long and
 * random.
 */
export function hashRefreshToken(refreshToken: string): string {
  return createHash('sha256').update(refreshToken).digest('hex');
}
