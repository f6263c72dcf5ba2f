import { bytesToHex, randomBytes } from '@noble/hashes/utils.js';
import { encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { wrapKey } from '../crypto/aes-kw.ts';
import type { LoginMethod } from '../login/login-method.ts';
import { derivePasswordKey } from '../login/password.ts';
import { createVerifier, saltBytes } from './registration.ts';

/** What makes a secret a way to log in and to the master key. */
export interface Credential {
  /** 64 hex digits, new for each. */
  readonly salt: string;
  /** 768 hex digits. */
  readonly verifier: string;
  /** The master key under the secret: AES-KW, base64 of 40 bytes. */
  readonly encryptedEnvelope: string;
  /** What opens the envelope; it stays here. */
  readonly envelopeKey: Bytes;
}

/** `salt` is for test vectors only. Throws as `derivePasswordKey` does. */
export async function createCredential(
  method: LoginMethod,
  secret: string,
  masterKey: Bytes,
  salt: Bytes = randomBytes(saltBytes),
): Promise<Credential> {
  const envelopeKey = await derivePasswordKey(secret, salt, method.envelopeLabel);
  return {
    salt: bytesToHex(salt),
    verifier: bytesToHex(await createVerifier(secret, salt, method.authLabel)),
    encryptedEnvelope: encodeBase64(await wrapKey(envelopeKey, masterKey)),
    envelopeKey,
  };
}
