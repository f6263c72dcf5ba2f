import { decodeProtectedHeader } from 'jose';
import { AppError } from '../../errors/app-error.ts';

/** Returns the error for a request whose Authorization header holds no bearer token. */
export function missingToken(header: string | undefined): AppError {
  const came =
    header === undefined
      ? 'nothing came'
      : 'a value of another scheme or with other characters came';
  return invalid(`must be \`Bearer\` and an access token; ${came}`);
}

/**
 * Adds to an invalid_token what is wrong with the form of the token, as far as anybody can see it.
 * Returns other errors unchanged.
 */
export function explainToken(token: string, error: unknown): unknown {
  const isBare =
    error instanceof AppError && error.code === 'invalid_token' && error.details === undefined;
  return isBare ? invalid(`must be an access token; ${problemOf(token)}`, error) : error;
}

function problemOf(token: string): string {
  try {
    const { typ = '', alg = '' } = decodeProtectedHeader(token);
    if (typ === 'reauth+jwt') return 'a reauthentication token came, which goes to X-Reauth-Token';
    if (alg !== 'RS256') return 'a token that is not signed with RS256 came';
    return 'a token that this vault does not accept, or does not accept any more, came';
  } catch {
    return 'a text that is no JWT came';
  }
}

function invalid(message: string, cause?: unknown): AppError {
  const details = [{ path: 'Authorization', message }];
  return new AppError('invalid_token', { details, cause });
}
