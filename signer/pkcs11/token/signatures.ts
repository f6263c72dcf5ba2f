import { P256_SIGNATURE_BYTES } from '../../protocol/ecdsa.ts';
import type { MacKey, SigningKey } from '../keys/keyring.ts';
import { CKM_ECDSA, CKM_SHA256_HMAC, CKM_SHA256_RSA_PKCS } from '../library/pkcs11.ts';
import type { Session } from '../library/pkcs11.ts';

export const MAC_BYTES = 32;

/** An audit key signs a digest and answers r ‖ s; a token key signs a text by RS256. */
export function signWith(session: Session, key: SigningKey, input: Buffer): Promise<Buffer> {
  if (key.purpose === 'audit')
    return session.sign(CKM_ECDSA, key.handle, input, P256_SIGNATURE_BYTES);
  const modulusBits = key.publicKey.asymmetricKeyDetails?.modulusLength ?? 0;
  return session.sign(CKM_SHA256_RSA_PKCS, key.handle, input, modulusBits / 8);
}

/** HMAC-SHA-256 of the label. */
export function macOf(session: Session, key: MacKey, label: string): Promise<Buffer> {
  return session.sign(CKM_SHA256_HMAC, key.handle, Buffer.from(label), MAC_BYTES);
}
