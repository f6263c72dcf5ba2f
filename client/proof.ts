import { p256 } from '@noble/curves/nist.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import canonicalize from 'canonicalize';
import { AuditProof } from './audit-proof.ts';
import { decodeBase64 } from './base64.ts';
import { equalBytes } from './bytes.ts';
import type { Bytes } from './bytes.ts';

/** SubjectPublicKeyInfo of an uncompressed P-256 point, up to the point (RFC 5480 §2). */
const SPKI_PREFIX = decodeBase64('MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE').slice(0, -1);
const SPKI_BYTES = SPKI_PREFIX.length + 65;
const KEY_ID_DIGITS = 32;

export type ProofDefect =
  | 'malformed'
  | 'not_canonical'
  | 'id_mismatch'
  | 'hash_mismatch'
  | 'key_id_mismatch'
  | 'key_untrusted'
  | 'signature_invalid';

export interface ProofVerdict {
  readonly valid: boolean;
  readonly hashValid: boolean;
  readonly signatureValid: boolean;
  readonly keyTrusted: boolean;
  /** The first thing found wrong. */
  readonly reason?: ProofDefect;
}

/** SHA-256 of the key's DER, 64 hex digits; its first half is the `hsmKeyId`. */
export function keyFingerprint(publicKey: Bytes): string {
  return bytesToHex(sha256(publicKey));
}

/**
 * Verifies a proof of any origin without the vault. `trustedKeys` are fingerprints, whole or their
 * first 32 hex digits, from a place that the maker of the proof does not control. Never throws for
 * what a proof contains.
 */
export function verifyProof(
  proof: unknown,
  { trustedKeys }: { trustedKeys: readonly string[] },
): ProofVerdict {
  const parsed = parseProof(proof);
  if (parsed === undefined) {
    const none = { hashValid: false, signatureValid: false, keyTrusted: false };
    return { valid: false, ...none, reason: 'malformed' };
  }
  const { id, keyId, entryText, entryBytes, entryHash, publicKey, signature } = parsed;
  const digest = sha3_256(entryBytes);
  const fingerprint = keyFingerprint(publicKey);

  const entry = parseEntry(entryText);
  const hashValid = equalBytes(entryHash, digest);
  const keyTrusted = trustedKeys.some((trusted) => isFingerprintOf(trusted, fingerprint));
  const signatureValid = verifySignature(signature, digest, publicKey);

  let reason: ProofDefect | undefined;
  if (entry === undefined) reason = 'not_canonical';
  else if (entry.id !== id) reason = 'id_mismatch';
  else if (!hashValid) reason = 'hash_mismatch';
  else if (keyId !== fingerprint.slice(0, KEY_ID_DIGITS)) reason = 'key_id_mismatch';
  else if (!keyTrusted) reason = 'key_untrusted';
  else if (!signatureValid) reason = 'signature_invalid';

  const verdict = { valid: reason === undefined, hashValid, signatureValid, keyTrusted };
  return reason === undefined ? verdict : { ...verdict, reason };
}

function parseProof(proof: unknown) {
  const fields = AuditProof.safeParse(proof).data;
  if (fields === undefined || !fields.entryCanonical.isWellFormed()) return undefined;
  if (!/^[0-9a-f]{64}$/.test(fields.entryHash)) return undefined;
  try {
    return {
      id: fields.id,
      keyId: fields.hsmKeyId,
      entryText: fields.entryCanonical,
      entryBytes: utf8ToBytes(fields.entryCanonical),
      entryHash: hexToBytes(fields.entryHash),
      publicKey: decodeBase64(fields.publicKey),
      signature: decodeBase64(fields.hsmSignature),
    };
  } catch {
    return undefined;
  }
}

/** Undefined unless the text is an object in the one form that RFC 8785 gives it. */
function parseEntry(text: string): { id?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject && canonicalize(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

function isFingerprintOf(trusted: string, fingerprint: string): boolean {
  return trusted === fingerprint || trusted === fingerprint.slice(0, KEY_ID_DIGITS);
}

/** Over the SHA3-256 digest. A high s is as good as a low one: HSMs make both. */
function verifySignature(signature: Bytes, digest: Bytes, publicKey: Bytes): boolean {
  const isP256 =
    publicKey.length === SPKI_BYTES &&
    equalBytes(publicKey.subarray(0, SPKI_PREFIX.length), SPKI_PREFIX);
  if (!isP256) return false;
  const point = publicKey.subarray(SPKI_PREFIX.length);
  try {
    return p256.verify(signature, digest, point, { prehash: false, lowS: false, format: 'der' });
  } catch {
    return false;
  }
}
