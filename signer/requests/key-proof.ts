import { createPublicKey, hash, randomBytes, verify } from 'node:crypto';
import type { Hsm } from '../hsm/hsm.ts';
import { encodeDerSignature } from '../protocol/ecdsa.ts';
import type { PublicKey } from '../protocol/protocol.ts';

/** Resolves with whether the token holds the private half of a public key. */
export type KeyProof = (key: PublicKey) => Promise<boolean>;

const sampleBytes = 32;

/**
 * Creates the function that makes a key of the token prove, by a signature of random bytes, that
 * the public half stored beside it is its own: who has the PIN can replace a public half. A key
 * proves it once. Throws SignerUnavailable if the HSM fails.
 */
export function createKeyProof({ hsm }: { readonly hsm: Pick<Hsm, 'sign'> }): KeyProof {
  const proved = new Set<string>();
  return async (key) => {
    if (proved.has(key.keyId)) return true;
    const sample = randomBytes(sampleBytes);
    const isProved = await (key.purpose === 'audit' ? provesEc : provesRsa)(hsm, key, sample);
    if (isProved) proved.add(key.keyId);
    return isProved;
  };
}

async function provesEc(hsm: Pick<Hsm, 'sign'>, key: PublicKey, sample: Buffer) {
  const [compact] = await hsm.sign(key.keyId, [hash('sha3-256', sample, 'buffer')]);
  if (compact === undefined) return false;
  return verify('sha3-256', sample, publicKeyOf(key), encodeDerSignature(compact));
}

async function provesRsa(hsm: Pick<Hsm, 'sign'>, key: PublicKey, sample: Buffer) {
  const [signature] = await hsm.sign(key.keyId, [sample]);
  return signature !== undefined && verify('sha256', sample, publicKeyOf(key), signature);
}

function publicKeyOf({ publicKey }: PublicKey) {
  return createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
}
