import type { JWTPayload } from 'jose';
import { AppError } from '../errors/app-error.ts';

/** Throws invalid_token without an `exp` that is a time. */
export function expiryOf({ exp }: JWTPayload): Date {
  const expiresAt = new Date((exp ?? Number.NaN) * 1000);
  if (Number.isNaN(expiresAt.getTime())) throw new AppError('invalid_token');
  return expiresAt;
}
