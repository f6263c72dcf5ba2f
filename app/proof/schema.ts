import { z } from 'zod';
import { maxEntryBytes } from '../../signer/protocol/protocol.ts';
import { Base64, Digest, KeyId, Limit, Timestamp, Uuid } from '../http/bodies/wire.ts';

export const EntryId = z.strictObject({ id: Uuid });

export const Proof = z
  .strictObject({
    id: z.guid().lowercase('must be in lower case'),
    entryCanonical: z
      .string()
      .min(2)
      .max(maxEntryBytes)
      .refine((text) => Buffer.byteLength(text) <= maxEntryBytes, 'must be 65,536 bytes at most'),
    entryHash: Digest,
    hsmSignature: Base64(80),
    hsmKeyId: KeyId,
    publicKey: Base64(512),
  })
  .meta({ id: 'AuditProof' });

const verdict = { valid: z.boolean(), hashValid: z.boolean(), signatureValid: z.boolean() };
const verdictNow = { ...verdict, verifiedAt: Timestamp };

export const ExternalVerification = z.strictObject(verdictNow);
export const EntryVerification = z.strictObject({ entryId: Uuid, ...verdictNow });
export const ExternalProof = z.strictObject({ proof: Proof });

export const Batch = z.strictObject({ ids: z.array(Uuid).min(1).max(1000) });

export const BatchVerification = z.strictObject({
  total: z.int(),
  valid: z.int(),
  invalid: z.int(),
  results: z.record(
    z.string(),
    z.strictObject({
      ...verdict,
      /** The reason if the entry has no proof to verify. */
      reason: z
        .enum(['not_found', 'proof_not_ready', 'entry_unrecoverable', 'entry_erased'])
        .optional(),
    }),
  ),
});

export const StatusQuery = z.strictObject({ limit: Limit });

export const Status = z.strictObject({
  checked: z.int(),
  valid: z.int(),
  invalid: z.int(),
  /** Number of entries that are not signed yet, and so were not checked. */
  pending: z.int(),
  message: z.string(),
});
