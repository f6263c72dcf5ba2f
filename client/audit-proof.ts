import { z } from 'zod';

/** One audit entry with everything that is needed to verify it without the vault. */
export const AuditProof = z.object({
  id: z.string(),
  /** JSON in the canonical form of RFC 8785. */
  entryCanonical: z.string(),
  /** SHA3-256 of the UTF-8 of the text, 64 hex digits. */
  entryHash: z.string(),
  /** ECDSA P-256 with SHA3-256 over the text, DER, base64. */
  hsmSignature: z.string(),
  /** The first 16 bytes of the SHA-256 of the public key's DER, 32 hex digits. */
  hsmKeyId: z.string(),
  /** SubjectPublicKeyInfo, DER, base64. */
  publicKey: z.string(),
});
export type AuditProof = z.output<typeof AuditProof>;
