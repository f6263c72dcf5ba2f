import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from '@hpke/core';
import { concatBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';

const suite = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Aes256Gcm(),
});

/** An X25519 key pair, 32 bytes each. */
export interface KeyPair {
  readonly publicKey: Bytes;
  readonly privateKey: Bytes;
}

export async function createKeyPair(): Promise<KeyPair> {
  const { publicKey, privateKey } = await suite.kem.generateKeyPair();
  return {
    publicKey: new Uint8Array(await suite.kem.serializePublicKey(publicKey)),
    privateKey: new Uint8Array(await suite.kem.serializePrivateKey(privateKey)),
  };
}

/**
 * Encrypts one message with HPKE in base mode (RFC 9180). Returns the encapsulated key (32 bytes)
 * and the ciphertext, which is 16 bytes longer than the text. Throws for a public key of small
 * order.
 */
export async function sealTo(publicKey: Bytes, info: Bytes, text: Bytes): Promise<Bytes> {
  const recipientPublicKey = await suite.kem.deserializePublicKey(publicKey);
  const { enc, ct } = await suite.seal({ recipientPublicKey, info }, text);
  return concatBytes(new Uint8Array(enc), new Uint8Array(ct));
}

/**
 * Decrypts what `sealTo` returned. Throws for a wrong private key, a different info or changed
 * bytes.
 */
export async function openSealed(privateKey: Bytes, info: Bytes, sealed: Bytes): Promise<Bytes> {
  const recipientKey = await suite.kem.deserializePrivateKey(privateKey);
  const { encSize } = suite.kem;
  const enc = sealed.slice(0, encSize);
  return new Uint8Array(await suite.open({ recipientKey, enc, info }, sealed.slice(encSize)));
}
