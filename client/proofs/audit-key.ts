import { z } from 'zod';
import { AuditProof } from './proof-format.ts';

export const KeyState = z.enum(['CREATED', 'ACTIVE', 'RETIRED', 'COMPROMISED']);
export type KeyState = z.output<typeof KeyState>;

export const AuditKey = z.object({
  keyId: z.string(),
  purpose: z.string(),
  algorithm: z.string(),
  /** SubjectPublicKeyInfo, DER, base64. */
  publicKey: z.string(),
  /** SHA-256 of the DER, 64 hex digits. */
  fingerprint: z.string(),
  generation: z.int(),
  /** Whether the HSM did not generate the key: others may hold it too. */
  imported: z.boolean(),
  state: KeyState,
  registeredAt: z.iso.datetime(),
  activatedAt: z.iso.datetime().nullable(),
  retiredAt: z.iso.datetime().nullable(),
  /** The instant since which somebody else may have the key; null unless it is COMPROMISED. */
  compromisedSince: z.iso.datetime().nullable(),
  /**
   * Audit proof of the entry that records this key, signed by the audit key of that time; null
   * until the entry is signed.
   */
  record: AuditProof.nullable(),
  /** Audit proof of the entry that records the compromise, signed by another audit key. */
  compromise: AuditProof.nullable(),
  /**
   * Id of the other key that signed `record`. If null, no other key vouches for this key: compare
   * its fingerprint with a published one.
   */
  vouchedBy: z.string().nullable(),
});
/** A public key of the vault, of any generation and state. */
export type AuditKey = z.output<typeof AuditKey>;
