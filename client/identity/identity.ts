import { ed25519, x25519 } from '@noble/curves/ed25519.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { createKeyPair } from '../crypto/hpke.ts';
import type { PrivateIdentity } from '../keys/keyring.ts';

const fingerprintLabel = 'Service_Identity_Fingerprint_v1';
const fingerprintDigits = 32;

/** The public half of an identity, 32 bytes each. */
export interface PublicIdentity {
  /** The X25519 key for which documents are shared. */
  readonly publicKey: Bytes;
  /** The Ed25519 key that verifies what the user signed. */
  readonly signingKey: Bytes;
}

/** A user's keys towards other users, 32 bytes each. */
export type Identity = PublicIdentity & PrivateIdentity;

export async function createIdentity(): Promise<Identity> {
  const { publicKey, privateKey } = await createKeyPair();
  return { publicKey, privateKey, ...createSigningPair() };
}

/** Creates the signing half of an identity. */
export function createSigningPair(): Pick<Identity, 'signingKey' | 'signingSeed'> {
  const { secretKey, publicKey } = ed25519.keygen();
  return { signingKey: new Uint8Array(publicKey), signingSeed: new Uint8Array(secretKey) };
}

/** Computes the public half of an identity from its private half. */
export function publicIdentityOf({ privateKey, signingSeed }: PrivateIdentity): PublicIdentity {
  return {
    publicKey: new Uint8Array(x25519.getPublicKey(privateKey)),
    signingKey: new Uint8Array(ed25519.getPublicKey(signingSeed)),
  };
}

/** Returns the hash of an identity, 32 bytes, which signatures name. */
export function identityHash({ publicKey, signingKey }: PublicIdentity): Bytes {
  const label = utf8ToBytes(`${fingerprintLabel}\0`);
  return new Uint8Array(sha3_256(concatBytes(label, publicKey, signingKey)));
}

/**
 * Returns the fingerprint of an identity, 32 hex digits, which two people compare over another
 * channel than the vault.
 */
export function fingerprintOf(identity: PublicIdentity): string {
  return bytesToHex(identityHash(identity)).slice(0, fingerprintDigits);
}
