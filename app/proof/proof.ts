import { createHash, timingSafeEqual, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import type { RegisteredKey } from './registered-key.ts';

/** Everything anyone needs to verify an entry; what an expert is handed. */
export interface AuditProof {
  readonly id: string;
  /** RFC 8785 text of the entry. */
  readonly entryCanonical: string;
  /** SHA3-256 of that text in UTF-8, hex. */
  readonly entryHash: string;
  /** ECDSA P-256 over that hash, DER, base64. */
  readonly hsmSignature: string;
  readonly hsmKeyId: string;
  /** SPKI DER, base64. */
  readonly publicKey: string;
}

export interface Verdict {
  /** Hash and signature are valid. */
  readonly valid: boolean;
  /** The text is the canonical form of the entry that the proof names, and the hash is the text's. */
  readonly hashValid: boolean;
  /** The signature over the text is one of the registered audit key that has the proof's key id. */
  readonly signatureValid: boolean;
}

/** What tells an entry from anything else that the key may sign one day. */
const Entry = z.looseObject({ v: z.literal(1), id: z.string() });

/**
 * Checks a proof against the registered key of its key id. A proof is only as good as the key: one
 * that the registry does not know, or whose bytes differ from the registry's, verifies nothing.
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

/** Whether the text is the one form that RFC 8785 gives an entry, and the proof's id is its own. */
function isEntryOf({ id, entryCanonical }: AuditProof): boolean {
  try {
    const value: unknown = JSON.parse(entryCanonical);
    return canonicalize(value) === entryCanonical && Entry.safeParse(value).data?.id === id;
  } catch {
    return false;
  }
}
