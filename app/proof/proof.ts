import { createHash, timingSafeEqual, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import type { KeyState } from '../db/tables/keys.ts';
import { findValidityDefect } from './key-validity.ts';
import { fingerprintOf, type RegisteredKey } from './registered-key.ts';

const keyIdDigits = 32;

/** An audit proof: all that anyone, such as a court expert, needs to verify an entry. */
export interface AuditProof {
  readonly id: string;
  /** RFC 8785 text of the entry. */
  readonly entryCanonical: string;
  /** SHA3-256 of `entryCanonical` in UTF-8, hex. */
  readonly entryHash: string;
  /** ECDSA P-256 signature over `entryHash`, DER, base64. */
  readonly hsmSignature: string;
  readonly hsmKeyId: string;
  /** SPKI DER, base64. */
  readonly publicKey: string;
}

/** Everything that can be wrong with a proof, in the order in which it is looked for. */
export const proofDefects = [
  'not_canonical',
  'not_an_entry',
  'id_mismatch',
  'hash_mismatch',
  'key_id_mismatch',
  'key_untrusted',
  'signature_invalid',
  'key_compromised',
  'outside_key_validity',
] as const;
export type ProofDefect = (typeof proofDefects)[number];

export interface Verdict {
  /** Both hash and signature are valid. */
  readonly valid: boolean;
  /**
   * The text is the canonical form of an entry with the id of the proof, and its hash is
   * `entryHash`.
   */
  readonly hashValid: boolean;
  /**
   * The signature verifies over the text with the registered audit key of the proof's key id, which
   * was valid when it signed.
   */
  readonly signatureValid: boolean;
  /** The first defect; absent if the proof is valid. */
  readonly reason?: ProofDefect;
  /** The state of the registered key; absent, as are the next two, if it is not registered. */
  readonly keyState?: KeyState;
  /** Whether the HSM did not generate the key. */
  readonly imported?: boolean;
  /** The instant since which somebody else may have the key; absent unless it is compromised. */
  readonly compromisedSince?: Date;
}

/** The form of `sealedAt`: ISO 8601 in UTC with milliseconds. */
const instant =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3])(:[0-5]\d){2}\.\d{3}Z$/;

/**
 * Members of every audit entry. The audit key may one day sign other kinds of texts, which must not
 * pass for entries.
 */
const Entry = z.looseObject({
  v: z.literal(2),
  id: z.string(),
  sealedAt: z.string().regex(instant),
});

type Entry = z.output<typeof Entry>;

/**
 * Verifies an audit proof with the registered key that its `hsmKeyId` names. The signature is
 * invalid if that key is not registered, is not an audit key, differs from the proof's `publicKey`,
 * or was not valid when it signed. `heldSince` is when the vault stored the entry; undefined unless
 * the vault holds this very entry.
 */
export function verifyProof(
  proof: AuditProof,
  key: RegisteredKey | undefined,
  heldSince?: Date,
): Verdict {
  const text = Buffer.from(proof.entryCanonical, 'utf8');
  const entry = parseEntry(proof.entryCanonical);
  const hashDefect = findHashDefect(proof, entry, text);
  const sealedAt = typeof entry === 'string' ? undefined : entry.sealedAt;
  const keyDefect =
    findSignatureDefect(proof, key, text) ??
    (key === undefined ? undefined : findValidityDefect(key, { sealedAt, heldSince }));
  const reason = hashDefect ?? keyDefect;
  return {
    valid: reason === undefined,
    hashValid: hashDefect === undefined,
    signatureValid: keyDefect === undefined,
    ...(reason === undefined ? {} : { reason }),
    ...(key === undefined ? {} : describeKey(key)),
  };
}

/**
 * Returns whether the proof is one of an entry that the key has signed, at whatever time and
 * whatever has become of the key since.
 */
export function isSignedBy(proof: AuditProof, key: RegisteredKey | undefined): boolean {
  const text = Buffer.from(proof.entryCanonical, 'utf8');
  const entry = parseEntry(proof.entryCanonical);
  const defect = findHashDefect(proof, entry, text) ?? findSignatureDefect(proof, key, text);
  return defect === undefined;
}

function describeKey({ state, imported, compromisedSince }: RegisteredKey) {
  const since = compromisedSince === null ? {} : { compromisedSince };
  return { keyState: state, imported, ...since };
}

function findHashDefect(
  { id, entryHash }: AuditProof,
  entry: Entry | ProofDefect,
  text: Buffer,
): ProofDefect | undefined {
  if (typeof entry === 'string') return entry;
  if (entry.id !== id) return 'id_mismatch';
  const hash = createHash('sha3-256').update(text).digest();
  const stated = Buffer.from(entryHash, 'hex');
  const isSame = stated.length === hash.length && timingSafeEqual(stated, hash);
  return isSame ? undefined : 'hash_mismatch';
}

function findSignatureDefect(
  { hsmKeyId, publicKey, hsmSignature }: AuditProof,
  key: RegisteredKey | undefined,
  text: Buffer,
): ProofDefect | undefined {
  if (fingerprintOf(publicKey).slice(0, keyIdDigits) !== hsmKeyId) return 'key_id_mismatch';
  if (key?.purpose !== 'audit' || key.publicKey !== publicKey) return 'key_untrusted';
  const signature = Buffer.from(hsmSignature, 'base64');
  return verify('sha3-256', text, key.key, signature) ? undefined : 'signature_invalid';
}

/** Parses the text of an entry in RFC 8785 form, or returns its defect. */
function parseEntry(text: string): Entry | ProofDefect {
  let value: unknown;
  try {
    value = JSON.parse(text);
    if (canonicalize(value) !== text) return 'not_canonical';
  } catch {
    return 'not_canonical';
  }
  return Entry.safeParse(value).data ?? 'not_an_entry';
}
