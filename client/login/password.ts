import { sha3_256 } from '@noble/hashes/sha3.js';
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { argon2id } from './argon2id.ts';

/** Label of K_auth, the key from which the SRP verifier is computed. */
export const srpAuthLabel = 'Service_SRP_Auth_v1';
/** Label of K_password, the key that wraps the master key. */
export const masterEnvelopeLabel = 'Service_Master_Envelope_v1';

const argon2SaltBytes = 16;

/**
 * Derives a key from a password, 32 bytes: Argon2id of the password in NFKC. The label is part of
 * the Argon2 salt, which is the first 16 bytes of SHA3-256(label ‖ 0x00 ‖ salt), since many
 * libraries do not support associated data. Throws TypeError for a password that is empty, contains
 * a lone surrogate, or contains a character that Unicode does not assign.
 */
export async function derivePasswordKey(
  password: string,
  salt: Bytes,
  label: string,
): Promise<Bytes> {
  if (!password.isWellFormed()) throw new TypeError('The password contains a lone surrogate.');
  const normalized = password.normalize('NFKC');
  if (normalized === '') throw new TypeError('The password is empty.');
  // A later version of Unicode may normalise such a character differently, which would change the
  // key.
  if (/\p{Cn}/u.test(password)) {
    throw new TypeError('The password contains a character that Unicode does not assign.');
  }

  const context = concatBytes(utf8ToBytes(label), Uint8Array.of(0), salt);
  const encoded = utf8ToBytes(normalized);
  const key = await argon2id(encoded, sha3_256(context).subarray(0, argon2SaltBytes));
  wipe(encoded);
  return key;
}
