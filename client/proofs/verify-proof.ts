import { p256 } from '@noble/curves/nist.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';
import { equalBytes, type Bytes } from '../bytes/bytes.ts';
import { AuditProof } from './proof-format.ts';

/**
 * The part before the point in the DER of a SubjectPublicKeyInfo with an uncompressed P-256 point
 * (RFC 5480 §2).
 */
const spkiPrefix = decodeBase64('MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE').slice(0, -1);
const spkiBytes = spkiPrefix.length + 65;
const keyIdDigits = 32;

/**
 * Schema of a proof. Unknown members are refused, because they could make claims about the proof
 * that nothing verifies.
 */
const KnownFields = z.strictObject(AuditProof.shape);

/** Members that distinguish an entry from other data that the key may sign in future. */
const Entry = z.looseObject({ v: z.literal(1), id: z.string() });

export type ProofDefect =
  | 'malformed'
  | 'not_canonical'
  | 'not_an_entry'
  | 'id_mismatch'
  | 'hash_mismatch'
  | 'key_id_mismatch'
  | 'key_untrusted'
  | 'signature_invalid';

/**
 * The result of `verifyProof`. `valid`, `hashValid` and `signatureValid` mean the same as in the
 * vault's `Verdict`.
 */
export interface ProofVerdict {
  /** Whether hash and signature are valid. */
  readonly valid: boolean;
  /**
   * Whether `entryCanonical` is the canonical form of an entry with the proof's id, and `entryHash`
   * is its hash.
   */
  readonly hashValid: boolean;
  /** Whether a trusted key with the proof's key id signed `entryCanonical`. */
  readonly signatureValid: boolean;
  /** Whether the public key of the proof is among the trusted ones. */
  readonly keyTrusted: boolean;
  /** The first defect found; undefined if the proof is valid. */
  readonly reason?: ProofDefect;
}

/** Returns the SHA-256 of a key's DER, 64 hex digits; the first half is the `hsmKeyId`. */
export function keyFingerprint(publicKey: Bytes): string {
  return bytesToHex(sha256(publicKey));
}

/**
 * Verifies an audit proof of any origin without the vault. `trustedKeys` are fingerprints, whole or
 * their first 32 hex digits; obtain them from a place that the maker of the proof does not control.
 * Never throws, whatever the proof contains.
 */
export function verifyProof(
  proof: unknown,
  { trustedKeys }: { readonly trustedKeys: readonly string[] },
): ProofVerdict {
  const { data: fields } = KnownFields.safeParse(proof);
  if (fields === undefined) {
    const none = { hashValid: false, signatureValid: false, keyTrusted: false };
    return { valid: false, ...none, reason: 'malformed' };
  }
  const digest = sha3_256(utf8ToBytes(fields.entryCanonical));
  const publicKey = decodeBase64(fields.publicKey);
  const fingerprint = keyFingerprint(publicKey);
  const keyTrusted = trustedKeys.some((trusted) => isFingerprintOf(trusted, fingerprint));

  const hashDefect = findEntryDefect(fields) ?? findHashDefect(fields, digest);
  let keyDefect: ProofDefect | undefined;
  if (fields.hsmKeyId !== fingerprint.slice(0, keyIdDigits)) keyDefect = 'key_id_mismatch';
  else if (!keyTrusted) keyDefect = 'key_untrusted';
  else if (!verifySignature(decodeBase64(fields.hsmSignature), digest, publicKey)) {
    keyDefect = 'signature_invalid';
  }

  const reason = hashDefect ?? keyDefect;
  const valid = reason === undefined;
  const signatureValid = keyDefect === undefined;
  const verdict = { valid, hashValid: hashDefect === undefined, signatureValid, keyTrusted };
  return reason === undefined ? verdict : { ...verdict, reason };
}

/**
 * Returns a defect of the entry unless it is the canonical JSON (RFC 8785) of an entry of version 1
 * with the proof's id.
 */
function findEntryDefect({ id, entryCanonical }: AuditProof): ProofDefect | undefined {
  const value = parseCanonical(entryCanonical);
  if (value === undefined) return 'not_canonical';
  const { data: entry } = Entry.safeParse(value);
  if (entry === undefined) return 'not_an_entry';
  return entry.id === id ? undefined : 'id_mismatch';
}

function findHashDefect({ entryHash }: AuditProof, digest: Bytes): ProofDefect | undefined {
  return equalBytes(hexToBytes(entryHash), digest) ? undefined : 'hash_mismatch';
}

function parseCanonical(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return canonicalize(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function isFingerprintOf(trusted: string, fingerprint: string): boolean {
  return trusted === fingerprint || trusted === fingerprint.slice(0, keyIdDigits);
}

/**
 * Verifies a signature over the SHA3-256 digest. A high s is accepted too, since HSMs produce
 * signatures with both a low and a high s.
 */
function verifySignature(signature: Bytes, digest: Bytes, publicKey: Bytes): boolean {
  const isP256 =
    publicKey.length === spkiBytes &&
    equalBytes(publicKey.subarray(0, spkiPrefix.length), spkiPrefix);
  if (!isP256) return false;
  const point = publicKey.subarray(spkiPrefix.length);
  try {
    return p256.verify(signature, digest, point, { prehash: false, lowS: false, format: 'der' });
  } catch {
    return false;
  }
}
