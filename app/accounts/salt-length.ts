import { AppError } from '../errors/app-error.ts';

const decoySaltDigits = 64;

/** Decoys have salts of 32 bytes, so where there are any everybody has. Throws validation_failed. */
export function assertSaltLength(
  salt: string,
  unknownUser: 'reveal' | 'decoy',
  path = 'salt',
): void {
  if (unknownUser !== 'decoy' || salt.length === decoySaltDigits) return;
  throw new AppError('validation_failed', { details: [{ path, message: 'must be 32 bytes' }] });
}
