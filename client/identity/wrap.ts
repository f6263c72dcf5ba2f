import type { Bytes } from '../bytes/bytes.ts';
import { unwrapKey, wrapKey } from '../crypto/aes-kw.ts';
import { deriveKey } from '../crypto/hkdf.ts';

const sharingLabel = 'Service_Sharing_Key_Wrap_v1';
const signingLabel = 'Service_Signing_Key_Wrap_v1';

/** Wraps the private sharing key under the master key with AES-KW: 40 bytes. */
export async function wrapPrivateKey(masterKey: Bytes, privateKey: Bytes): Promise<Bytes> {
  return wrapKey(await deriveKey(masterKey, sharingLabel), privateKey);
}

/** Unwraps the private sharing key. Throws invalid_envelope for a wrong master key. */
export async function unwrapPrivateKey(masterKey: Bytes, wrapped: Bytes): Promise<Bytes> {
  return unwrapKey(await deriveKey(masterKey, sharingLabel), wrapped);
}

/** Wraps the private signing key under the master key with AES-KW: 40 bytes. */
export async function wrapSigningSeed(masterKey: Bytes, signingSeed: Bytes): Promise<Bytes> {
  return wrapKey(await deriveKey(masterKey, signingLabel), signingSeed);
}

/** Unwraps the private signing key. Throws invalid_envelope for a wrong master key. */
export async function unwrapSigningSeed(masterKey: Bytes, wrapped: Bytes): Promise<Bytes> {
  return unwrapKey(await deriveKey(masterKey, signingLabel), wrapped);
}
