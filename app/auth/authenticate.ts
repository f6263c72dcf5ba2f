import { AppError } from '../errors.ts';
import type { Identified } from '../http/caller.ts';
import type { AccessTokens } from './access-token.ts';
import type { Revocations } from './revocations.ts';

interface AuthenticateOptions {
  readonly tokens: AccessTokens;
  readonly revocations: Revocations;
}

/** Whom a bearer token names. Throws as AccessTokens.verify and Revocations.isRevoked do. */
export function createAuthenticate({ tokens, revocations }: AuthenticateOptions) {
  return async function authenticate(token: string): Promise<Identified> {
    const caller = await tokens.verify(token);
    if (caller.sessionId !== undefined && (await revocations.isRevoked(caller.sessionId))) {
      throw new AppError('invalid_token');
    }
    return caller;
  };
}
