import { sha3_256 } from '@noble/hashes/sha3.js';
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { argon2id } from './argon2id.ts';

/** K_auth: the key behind the SRP verifier. */
export const srpAuthLabel = 'Service_SRP_Auth_v1';
/** K_password: the key that wraps the master key. */
export const masterEnvelopeLabel = 'Service_Master_Envelope_v1';

const argon2SaltBytes = 16;
/**
 * Argon2id over the password in NFKC, 32 bytes. The label enters through the Argon2 salt, the first
 * 16 bytes of SHA3-256(label ‖ 0x00 ‖ salt), since many libraries offer no associated data.
 * Throws TypeError for a password that is empty, has no UTF-8 form or holds a character that Unicode
 * does not assign.
 */
export async function derivePasswordKey(
  password: string,
  salt: Bytes,
  label: string,
): Promise<Bytes> {
  if (!password.isWellFormed()) throw new TypeError('the password holds a lone surrogate');
  const normalized = password.normalize('NFKC');
  if (normalized === '') throw new TypeError('the password is empty');
  // Another version of Unicode may normalize it otherwise, and then opens nothing.
  if (/\p{Cn}/u.test(password)) throw new TypeError('the password holds an unknown character');

  const context = concatBytes(utf8ToBytes(label), Uint8Array.of(0), salt);
  const encoded = utf8ToBytes(normalized);
  const key = await argon2id(encoded, sha3_256(context).subarray(0, argon2SaltBytes));
  wipe(encoded);
  return key;
}
