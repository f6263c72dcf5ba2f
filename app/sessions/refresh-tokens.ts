import { createHash, randomBytes } from 'node:crypto';
import type { Tx } from '../db/database.ts';

const lifetimeMs = 30 * 86_400_000;

/** When a refresh token issued now ends, and its session if nobody refreshes it. */
export function refreshTokenExpiry(now: Date): Date {
  return new Date(now.getTime() + lifetimeMs);
}

/**
 * Adds a session's next refresh token: opaque, `prt_`, by which scanners know a leaked one, and 32
 * random bytes, base64url. Nothing but its hash is kept.
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

/** They are random and long: one SHA-256 is enough. Hex. */
export function hashRefreshToken(refreshToken: string): string {
  return createHash('sha256').update(refreshToken).digest('hex');
}
