import { errors } from 'jose';
import { AppError } from '../errors/app-error.ts';

/** The API's code for what jose refuses; any other error as it is. */
export function toTokenError(error: unknown): unknown {
  if (!(error instanceof errors.JOSEError)) return error;
  if (error instanceof errors.JWTExpired) return new AppError('token_expired', { cause: error });
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'iss') return new AppError('invalid_issuer', { cause: error });
    if (error.claim === 'aud') return new AppError('invalid_audience', { cause: error });
  }
  return new AppError('invalid_token', { cause: error });
}
