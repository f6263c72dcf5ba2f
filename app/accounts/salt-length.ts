import { AppError } from '../errors/app-error.ts';

const decoySaltDigits = 64;

/**
 * Throws validation_failed if unknown users get decoys and a salt is not 32 bytes long: decoys have
 * salts of 32 bytes, so any other length would reveal that an account exists. `path` names the
 * salt's field in the error.
 */
export function assertSaltLength(
  salt: string,
  unknownUser: 'reveal' | 'decoy',
  path = 'salt',
): void {
  if (unknownUser !== 'decoy' || salt.length === decoySaltDigits) return;
  throw new AppError('validation_failed', { details: [{ path, message: 'must be 32 bytes' }] });
}
