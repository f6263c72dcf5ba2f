import { p256SignatureBytes } from '../../protocol/ecdsa.ts';
import type { MacKey, SigningKey } from '../keys/keyring.ts';
import {
  CKM_ECDSA,
  CKM_SHA256_HMAC,
  CKM_SHA256_RSA_PKCS,
  type Session,
} from '../library/pkcs11.ts';

export const macBytes = 32;

/**
 * Signs `input`. With an audit key, `input` is a digest and the signature is r ‖ s. With a token
 * key, `input` is a text and the signature is RS256.
 */
export function signWith(session: Session, key: SigningKey, input: Buffer): Promise<Buffer> {
  const { mechanism, maxBytes } = operationOf(key);
  return session.sign(mechanism, key.handle, input, maxBytes);
}

/** Signs `input` like `signWith`, on the calling thread, which waits for the token. */
export function signWithSync(session: Session, key: SigningKey, input: Buffer): Buffer {
  const { mechanism, maxBytes } = operationOf(key);
  return session.signSync(mechanism, key.handle, input, maxBytes);
}

function operationOf(key: SigningKey): { readonly mechanism: number; readonly maxBytes: number } {
  if (key.purpose === 'audit') return { mechanism: CKM_ECDSA, maxBytes: p256SignatureBytes };
  const modulusBits = key.publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
  return { mechanism: CKM_SHA256_RSA_PKCS, maxBytes: modulusBits / 8 };
}

/** Resolves with the HMAC-SHA-256 of the label. */
export function macOf(session: Session, key: MacKey, label: string): Promise<Buffer> {
  return session.sign(CKM_SHA256_HMAC, key.handle, Buffer.from(label), macBytes);
}
