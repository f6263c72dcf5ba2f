import { bytesToHex, randomBytes } from '@noble/hashes/utils.js';
import { encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { wrapMasterKey } from '../keys/master-key-wrap.ts';
import type { NumberedKey } from '../keys/master-keys.ts';
import type { LoginMethod } from '../login/login-method.ts';
import { derivePasswordKey } from '../login/password.ts';
import { createVerifier, saltBytes } from './registration.ts';

/**
 * The values that are computed from a secret (password or recovery words) so that the secret can be
 * used to log in.
 */
export interface Credential {
  /** 64 hex digits, random for each credential. */
  readonly salt: string;
  /** The SRP verifier, 768 hex digits. */
  readonly verifier: string;
  /** The master key as `wrapMasterKey` wraps it with `envelopeKey`, base64 of 40 bytes. */
  readonly encryptedEnvelope: string;
  /** The key that opens `encryptedEnvelope`, 32 bytes. It never leaves the client. */
  readonly envelopeKey: Bytes;
}

/**
 * Creates the verifier of a secret and wraps the master key under a key derived from the secret.
 * Pass `salt` in tests with vectors only. Throws what `derivePasswordKey` throws.
 */
export async function createCredential(
  method: LoginMethod,
  secret: string,
  masterKey: NumberedKey,
  salt: Bytes = randomBytes(saltBytes),
): Promise<Credential> {
  const envelopeKey = await derivePasswordKey(secret, salt, method.envelopeLabel);
  return {
    salt: bytesToHex(salt),
    verifier: bytesToHex(await createVerifier(secret, salt, method.authLabel)),
    encryptedEnvelope: encodeBase64(await wrapMasterKey(envelopeKey, masterKey)),
    envelopeKey,
  };
}
