import { accessTokenSeconds } from '../tokens/token-rules.ts';

/** An access token, and the refresh token that can be exchanged for the next pair. */
export interface TokenPair {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  /** Seconds for which the access token is valid. */
  readonly expiresIn: number;
  readonly refreshToken: string;
}

export function tokenPair(accessToken: string, refreshToken: string): TokenPair {
  return { accessToken, tokenType: 'Bearer', expiresIn: accessTokenSeconds, refreshToken };
}
