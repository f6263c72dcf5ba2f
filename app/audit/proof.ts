import { createHash, timingSafeEqual, verify } from 'node:crypto';
import type { RegisteredKey } from '../keys/registry.ts';

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
  readonly valid: boolean;
  readonly hashValid: boolean;
  readonly signatureValid: boolean;
}

/**
 * Checks a proof against the registered key of its key id. A proof is only as good as the key: one
 * that the registry does not know, or whose bytes differ from the registry's, verifies nothing.
 */
export function verifyProof(proof: AuditProof, key: RegisteredKey | undefined): Verdict {
  const text = Buffer.from(proof.entryCanonical, 'utf8');
  const hash = createHash('sha3-256').update(text).digest();
  const stated = Buffer.from(proof.entryHash, 'hex');
  const hashValid =
    stated.length === hash.length && timingSafeEqual(stated, hash) && namesEntry(proof);
  const signatureValid =
    key?.purpose === 'audit' &&
    key.publicKey === proof.publicKey &&
    verify('sha3-256', text, key.key, Buffer.from(proof.hsmSignature, 'base64'));
  return { valid: hashValid && signatureValid, hashValid, signatureValid };
}

/** The proof's id is the entry's own. */
function namesEntry(proof: AuditProof): boolean {
  try {
    return (JSON.parse(proof.entryCanonical) as { id?: unknown }).id === proof.id;
  } catch {
    return false;
  }
}
