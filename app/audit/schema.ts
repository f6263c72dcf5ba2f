import { z } from 'zod';
import { Base64, Digest, Timestamp, Uuid } from '../http/wire.ts';

export const EntryId = z.strictObject({ id: Uuid });

export const Proof = z
  .strictObject({
    id: Uuid,
    entryCanonical: z.string().min(2).max(65_536),
    entryHash: Digest,
    hsmSignature: Base64(80),
    hsmKeyId: z.string().regex(/^[0-9a-f]{32}$/, 'must be 32 lowercase hex digits'),
    publicKey: Base64(512),
  })
  .meta({ id: 'AuditProof' });

const verdict = {
  valid: z.boolean(),
  hashValid: z.boolean(),
  signatureValid: z.boolean(),
  verifiedAt: Timestamp,
};

export const ExternalVerification = z.strictObject(verdict);
export const EntryVerification = z.strictObject({ entryId: Uuid, ...verdict });
export const ExternalProof = z.strictObject({ proof: Proof });

export const PublicKeys = z.strictObject({
  keys: z.array(
    z.strictObject({
      keyId: z.string(),
      purpose: z.enum(['audit', 'token']),
      algorithm: z.string(),
      /** SPKI DER, base64. */
      publicKey: z.string(),
      /** SHA-256 of the SPKI DER, hex: what is published elsewhere and compared. */
      fingerprint: z.string(),
      generation: z.int(),
      registeredAt: Timestamp,
    }),
  ),
});
