import { accessTokenSeconds } from '../tokens/token-lifetime.ts';

/** What opens a session and keeps it open. */
export interface TokenPair {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  /** Seconds that the access token lives. */
  readonly expiresIn: number;
  readonly refreshToken: string;
}

export function tokenPair(accessToken: string, refreshToken: string): TokenPair {
  return { accessToken, tokenType: 'Bearer', expiresIn: accessTokenSeconds, refreshToken };
}
