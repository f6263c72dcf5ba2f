import { constants, createHash, createPublicKey, publicEncrypt, type KeyObject } from 'node:crypto';
import type { GenerationKey } from '../encryption/row-cipher.ts';

/** A derived key, encrypted for the operator's offline key. */
export interface Escrow {
  /** RSA-OAEP with SHA-256 of `GENERATION:KEY`, where KEY is base64 of 32 bytes; in base64. */
  readonly text: string;
  /** The fingerprint of the offline key's public half: SHA-256 of the SPKI DER, in hex. */
  readonly publicKey: string;
}

export type EscrowKey = ReturnType<typeof createEscrowKey>;

/**
 * Creates the function that encrypts derived keys for an offline key: `pem` is its public half, of
 * RSA. OpenSSL decrypts the result with the private half (docs/keys.md).
 */
export function createEscrowKey(pem: string) {
  const key = createPublicKey(pem);
  const publicKey = fingerprintOf(key);
  return {
    publicKey,
    encrypt({ generation, key: secret }: GenerationKey): Escrow {
      const text = Buffer.from(`${generation}:${secret.toString('base64')}`);
      const padding = constants.RSA_PKCS1_OAEP_PADDING;
      const encrypted = publicEncrypt({ key, padding, oaepHash: 'sha256' }, text);
      text.fill(0);
      return { text: encrypted.toString('base64'), publicKey };
    },
  };
}

function fingerprintOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}
