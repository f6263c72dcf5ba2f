import { createHash, randomBytes } from 'node:crypto';
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

/**
 * Returns the SHA-256 of a refresh token in hex. One round is enough, since the tokens are long and
 * random.
 */
export function hashRefreshToken(refreshToken: string): string {
  return createHash('sha256').update(refreshToken).digest('hex');
}
