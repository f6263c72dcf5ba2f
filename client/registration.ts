import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, randomBytes } from '@noble/hashes/utils.js';
import type { Bytes } from './bytes.ts';
import { derivePasswordKey, SRP_AUTH_LABEL } from './password.ts';
import { computeVerifier, computeX, pad, SERVICE_SRP } from './srp.ts';

const SALT_BYTES = 32;
const FINGERPRINT_DIGITS = 8;

export interface Registration {
  /** 64 hex digits. */
  readonly salt: string;
  /** 768 hex digits. */
  readonly verifier: string;
  /** The 8 hex digits that the validation mail must show too. */
  readonly fingerprint: string;
}

/** `salt` is for test vectors only: every registration needs a new one. */
export async function createRegistration(
  password: string,
  salt: Bytes = randomBytes(SALT_BYTES),
): Promise<Registration> {
  const authKey = await derivePasswordKey(password, salt, SRP_AUTH_LABEL);
  const x = computeX(SERVICE_SRP, salt, authKey);
  const verifier = pad(SERVICE_SRP.group, computeVerifier(SERVICE_SRP, x));
  return {
    salt: bytesToHex(salt),
    verifier: bytesToHex(verifier),
    fingerprint: bytesToHex(sha3_256(concatBytes(salt, verifier))).slice(0, FINGERPRINT_DIGITS),
  };
}
