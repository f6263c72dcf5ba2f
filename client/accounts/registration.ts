import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, randomBytes } from '@noble/hashes/utils.js';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { derivePasswordKey, srpAuthLabel } from '../login/password.ts';
import { computeVerifier, computeX, pad, serviceSrp } from '../srp/srp.ts';

export const saltBytes = 32;
const fingerprintDigits = 8;

export interface Registration {
  /** 64 hex digits. */
  readonly salt: string;
  /** The SRP verifier, 768 hex digits. */
  readonly verifier: string;
  /**
   * Fingerprint of salt and verifier, 8 hex digits; the validation mail must show the same digits.
   */
  readonly fingerprint: string;
}

/**
 * Creates the salt, the SRP verifier and the fingerprint for the registration of an account. Pass
 * `salt` in tests with vectors only.
 */
export async function createRegistration(
  password: string,
  salt: Bytes = randomBytes(saltBytes),
): Promise<Registration> {
  const verifier = await createVerifier(password, salt, srpAuthLabel);
  return {
    salt: bytesToHex(salt),
    verifier: bytesToHex(verifier),
    fingerprint: bytesToHex(sha3_256(concatBytes(salt, verifier))).slice(0, fingerprintDigits),
  };
}

/**
 * Returns the SRP verifier PAD(v), 384 bytes: the vault verifies logins with it and cannot compute
 * the secret from it.
 */
export async function createVerifier(secret: string, salt: Bytes, label: string): Promise<Bytes> {
  const authKey = await derivePasswordKey(secret, salt, label);
  const verifier = computeVerifier(serviceSrp, computeX(serviceSrp, salt, authKey));
  wipe(authKey);
  return pad(serviceSrp.group, verifier);
}
