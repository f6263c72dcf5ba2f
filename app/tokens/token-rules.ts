import { errors, type JWTPayload } from 'jose';
import { AppError } from '../errors/app-error.ts';

/** Seconds for which an access token is valid. */
export const accessTokenSeconds = 900;

/** Seconds for which the access token of a recovery login is valid; it cannot be refreshed. */
export const recoveryTokenSeconds = 600;

/** Seconds for which a reauthentication is fresh (specification, MFA 1). */
export const reauthTokenSeconds = 300;

/** Tolerated difference between the clocks of issuers and of this service, in seconds. */
export const clockSkewSeconds = 30;

/**
 * Returns the time of the `exp` claim. Throws invalid_token if the claim is missing or is not a
 * valid time.
 */
export function expiryOf({ exp }: JWTPayload): Date {
  const expiresAt = new Date((exp ?? Number.NaN) * 1000);
  if (Number.isNaN(expiresAt.getTime())) throw new AppError('invalid_token');
  return expiresAt;
}

/**
 * Returns whether a token states that it will be issued at a later time, which jose does not check.
 */
export function isFromFuture({ iat = 0 }: JWTPayload, now: Date): boolean {
  return iat > now.getTime() / 1000 + clockSkewSeconds;
}

/**
 * Returns whether a proof of identity is fresh: under five minutes old. A time in the future is
 * tolerated only as far as clocks may differ.
 */
export function isFresh(provenAt: Date, now: Date): boolean {
  const ageSeconds = (now.getTime() - provenAt.getTime()) / 1000;
  return ageSeconds < reauthTokenSeconds && ageSeconds >= -clockSkewSeconds;
}

/** Returns the API's error for an error of jose, and any other error unchanged. */
export function toTokenError(error: unknown): unknown {
  if (!(error instanceof errors.JOSEError)) return error;
  if (error instanceof errors.JWTExpired) return new AppError('token_expired', { cause: error });
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'iss') return new AppError('invalid_issuer', { cause: error });
    if (error.claim === 'aud') return new AppError('invalid_audience', { cause: error });
  }
  return new AppError('invalid_token', { cause: error });
}
