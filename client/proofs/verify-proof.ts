import { p256 } from '@noble/curves/nist.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';
import { equalBytes, type Bytes } from '../bytes/bytes.ts';
import type { KeyState } from './audit-key.ts';
import { findValidityDefect, type KeyFacts, type ValidityDefect } from './key-validity.ts';
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

/** The form of `sealedAt`: ISO 8601 in UTC with milliseconds. */
const instant =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3])(:[0-5]\d){2}\.\d{3}Z$/;

/** Members that distinguish an entry from other data that the key may sign in future. */
const Entry = z.looseObject({
  v: z.literal(2),
  id: z.string(),
  sealedAt: z.string().regex(instant),
});
type Entry = z.output<typeof Entry>;

export type ProofDefect =
  | 'malformed'
  | 'not_canonical'
  | 'not_an_entry'
  | 'id_mismatch'
  | 'hash_mismatch'
  | 'key_id_mismatch'
  | 'key_untrusted'
  | 'signature_invalid'
  | ValidityDefect;

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
  /**
   * Whether a trusted key with the proof's key id signed `entryCanonical`, and was valid then as
   * far as `keys` tell.
   */
  readonly signatureValid: boolean;
  /** Whether the public key of the proof is among the trusted ones. */
  readonly keyTrusted: boolean;
  /** The state of the key; absent, as is the next member, unless `keys` have the key. */
  readonly keyState?: KeyState;
  /** Whether the vault's HSM did not generate the key: others may hold it too. */
  readonly imported?: boolean;
  /** The first defect found; undefined if the proof is valid. */
  readonly reason?: ProofDefect;
}

export interface VerifyOptions {
  readonly trustedKeys: readonly string[];
  readonly keys?: readonly KeyFacts[];
}

/** Returns the SHA-256 of a key's DER, 64 hex digits; the first half is the `hsmKeyId`. */
export function keyFingerprint(publicKey: Bytes): string {
  return bytesToHex(sha256(publicKey));
}

/**
 * Verifies an audit proof of any origin without the vault. `trustedKeys` are fingerprints, whole or
 * their first 32 hex digits; obtain them from a place that the maker of the proof does not control.
 * `keys` is the vault's list of keys, of `Proofs.keys` or `GET /v1/audit/keys`: with it, what a key
 * signed before its activation or after its retirement is not valid, and nothing that a compromised
 * key signed; only the vault itself can tell which of its proofs are. Never throws, whatever the
 * proof contains.
 */
export function verifyProof(
  proof: unknown,
  { trustedKeys, keys = [] }: VerifyOptions,
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

  const entry = parseEntry(fields.entryCanonical);
  const hashDefect = typeof entry === 'string' ? entry : findHashDefect(fields, entry, digest);
  const key = keys.find(({ keyId }) => keyId === fields.hsmKeyId);
  let keyDefect: ProofDefect | undefined;
  if (fields.hsmKeyId !== fingerprint.slice(0, keyIdDigits)) keyDefect = 'key_id_mismatch';
  else if (!keyTrusted) keyDefect = 'key_untrusted';
  else if (!verifySignature(decodeBase64(fields.hsmSignature), digest, publicKey)) {
    keyDefect = 'signature_invalid';
  } else if (key !== undefined) {
    keyDefect = findValidityDefect(key, typeof entry === 'string' ? undefined : entry.sealedAt);
  }

  const reason = hashDefect ?? keyDefect;
  const valid = reason === undefined;
  const signatureValid = keyDefect === undefined;
  const verdict = {
    valid,
    hashValid: hashDefect === undefined,
    signatureValid,
    keyTrusted,
    ...(key === undefined ? {} : { keyState: key.state, imported: key.imported }),
  };
  return reason === undefined ? verdict : { ...verdict, reason };
}

/** Parses the canonical JSON (RFC 8785) of an entry of version 2, or returns its defect. */
function parseEntry(text: string): Entry | ProofDefect {
  const value = parseCanonical(text);
  if (value === undefined) return 'not_canonical';
  return Entry.safeParse(value).data ?? 'not_an_entry';
}

function findHashDefect(
  { id, entryHash }: AuditProof,
  entry: Entry,
  digest: Bytes,
): ProofDefect | undefined {
  if (entry.id !== id) return 'id_mismatch';
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
