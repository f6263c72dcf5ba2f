import { hash } from 'node:crypto';
import { p256 } from '@noble/curves/nist.js';
import canonicalize from 'canonicalize';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';

/** SubjectPublicKeyInfo of P-256 without the point (RFC 5480 §2). */
const spkiPrefix = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex');

/** A key pair of the corpus. Its private key is public. */
export interface CorpusKey {
  readonly secret: Uint8Array;
  /** The public key as SubjectPublicKeyInfo, DER, in base64. */
  readonly publicKey: string;
  readonly keyId: string;
}

function createKey(name: string): CorpusKey {
  const secret = hash('sha256', `key of the proof corpus: ${name}`, 'buffer');
  const publicKey = Buffer.concat([spkiPrefix, p256.getPublicKey(secret, false)]);
  return { secret, publicKey: publicKey.toString('base64'), keyId: keyIdOf(publicKey) };
}

export function keyIdOf(publicKey: Uint8Array): string {
  return hash('sha256', publicKey, 'hex').slice(0, 32);
}

export const keys = {
  first: createKey('first'),
  second: createKey('second'),
  imported: createKey('imported'),
  compromised: createKey('compromised'),
  /** A key that was created and never activated. */
  spare: createKey('spare'),
  token: createKey('token'),
  unknown: createKey('unknown'),
};

/** The activation and the retirement of every key of the corpus that was active. */
export const activatedAt = '2023-06-01T00:00:00.500Z';
export const retiredAt = '2023-07-01T00:00:00.500Z';
/** The instant since which somebody else may have the compromised key. */
export const compromisedSince = '2023-06-30T12:00:00.000Z';

export const id = '01890a5d-ac96-774b-bcce-b302099a8057';
const documentId = '01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35';
const userId = '01890a5d-9a01-7d3e-8f21-5c6a3f0b7e11';

export const entry = {
  v: 2,
  id,
  issuer: 'https://vault.example',
  timestamp: '2023-06-30T03:34:18.518Z',
  sealedAt: '2023-06-30T03:34:18.731Z',
  actor: { type: 'user', id: userId },
  tenant: 'default',
  action: 'document.sealed',
  resource: { type: 'document', id: documentId, owner: userId },
  seq: 2,
  outcome: 'success',
  requestId: '5f0c1f5e-6a0e-4a53-9b0c-2f6f6c1d7a94',
  data: {
    fileHash: hash('sha3-256', 'file'),
    metadataHash: hash('sha3-256', 'metadata'),
    size: 128,
    version: 1,
  },
  salt: hash('sha256', 'salt', 'base64'),
};

/** Returns the canonical form (RFC 8785) of a value. */
export function canonical(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('the value has no JSON form');
  return text;
}

/** Creates a proof with a right hash and signature of this text, whatever it is. */
export function prove(entryCanonical: string, key = keys.first, proofId = id): AuditProof {
  return {
    id: proofId,
    entryCanonical,
    entryHash: hash('sha3-256', entryCanonical),
    hsmSignature: sign(hash('sha3-256', entryCanonical, 'buffer'), key).toString('base64'),
    hsmKeyId: key.keyId,
    publicKey: key.publicKey,
  };
}

/** Returns the DER form of the deterministic signature (RFC 6979) with a low s. */
export function sign(digest: Uint8Array, { secret }: CorpusKey): Buffer {
  return Buffer.from(p256.sign(digest, secret, { prehash: false, lowS: true, format: 'der' }));
}

export const proof = prove(canonical(entry));

const otherId = '01890a5e-0b1c-7f2d-8a3e-4c5d6e7f8091';
/** Another valid proof, signed by the second key. */
export const otherProof = prove(
  canonical({ ...entry, id: otherId, seq: 3, action: 'document.shared', data: {} }),
  keys.second,
  otherId,
);
