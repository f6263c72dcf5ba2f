import { createHash, timingSafeEqual, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import type { RegisteredKey } from './registered-key.ts';

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

export interface Verdict {
  /** Both hash and signature are valid. */
  readonly valid: boolean;
  /**
   * The text is the canonical form of an entry with the id of the proof, and its hash is
   * `entryHash`.
   */
  readonly hashValid: boolean;
  /** The signature verifies over the text with the registered audit key of the proof's key id. */
  readonly signatureValid: boolean;
}

/**
 * Members of every audit entry. The audit key may one day sign other kinds of texts, which must not
 * pass for entries.
 */
const Entry = z.looseObject({ v: z.literal(1), id: z.string() });

/**
 * Verifies an audit proof with the registered key that its `hsmKeyId` names. The signature is
 * invalid if that key is not registered, is not an audit key, or differs from the proof's
 * `publicKey`.
 */
export function verifyProof(proof: AuditProof, key: RegisteredKey | undefined): Verdict {
  const text = Buffer.from(proof.entryCanonical, 'utf8');
  const hash = createHash('sha3-256').update(text).digest();
  const stated = Buffer.from(proof.entryHash, 'hex');
  const hashValid =
    stated.length === hash.length && timingSafeEqual(stated, hash) && isEntryOf(proof);
  const signatureValid =
    key?.purpose === 'audit' &&
    key.publicKey === proof.publicKey &&
    verify('sha3-256', text, key.key, Buffer.from(proof.hsmSignature, 'base64'));
  return { valid: hashValid && signatureValid, hashValid, signatureValid };
}

/** Returns whether the text is the RFC 8785 form of an entry that has the id of the proof. */
function isEntryOf({ id, entryCanonical }: AuditProof): boolean {
  try {
    const value: unknown = JSON.parse(entryCanonical);
    return canonicalize(value) === entryCanonical && Entry.safeParse(value).data?.id === id;
  } catch {
    return false;
  }
}
