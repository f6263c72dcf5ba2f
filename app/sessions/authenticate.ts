import { decodeJwt } from 'jose';
import { AppError } from '../errors/app-error.ts';
import type { Identified } from '../http/requests/caller.ts';
import type { AccessTokens } from '../tokens/access-token.ts';
import type { Issuers } from '../tokens/external-issuers/issuers.ts';
import type { Revocations } from './revocations.ts';

interface AuthenticateOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly tokens: AccessTokens;
  readonly revocations: Revocations;
  readonly issuers: Issuers;
}

/** Creates the function that authenticates requests by their bearer token. */
export function createAuthenticate(options: AuthenticateOptions) {
  const { issuer, tokens, revocations, issuers } = options;
  /**
   * Returns the caller whom a token of the vault or of another issuer names. Throws as
   * `AccessTokens.verify`, `Revocations.isRevoked` and `Issuers.verify` do.
   */
  return async function authenticate(token: string): Promise<Identified> {
    const known = await tokens.recall(token);
    const named = known === undefined ? unverifiedIssuer(token) : issuer;
    if (named !== issuer) return issuers.verify(token, named);
    const caller = known ?? (await tokens.verify(token));
    if (await revocations.isRevoked(caller.sessionId)) throw new AppError('invalid_token');
    return caller;
  };
}

/**
 * Reads the issuer that a token names before the token's signature is verified. Use it only to
 * choose the key that verifies the signature.
 */
function unverifiedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch (cause) {
    throw new AppError('invalid_token', { cause });
  }
}
