import { z } from 'zod';
import { Proof } from '../audit/schema.ts';
import { Base64, Digest, Limit, Timestamp, Uuid } from '../http/wire.ts';

const maxMetadataBytes = 65_536;
const Status = z.enum(['PENDING', 'SEALED', 'EXPIRED']);

export const CreateDocument = z.strictObject({
  encryptedMetadata: Base64(maxMetadataBytes).min(1),
  /** HMACs of keywords under a key of the client. */
  keywordDeterministic: z.array(Digest).max(200),
  storagePath: z.string().min(1).max(1024),
});

export const DocumentId = z.strictObject({ id: Uuid });

export const DocumentView = z
  .strictObject({
    id: Uuid,
    userId: Uuid,
    encryptedMetadata: z.string(),
    fileHash: z.string(),
    status: Status,
    createdAt: Timestamp,
  })
  .meta({ id: 'Document' });

export const DocumentPage = z.strictObject({ limit: Limit, cursor: Uuid.optional() });

export const DocumentList = z.array(
  z.strictObject({
    id: Uuid,
    encryptedMetadata: z.string(),
    status: Status,
    createdAt: Timestamp,
  }),
);

export const DocumentHash = z.strictObject({ hash: z.string(), algorithm: z.literal('SHA3-256') });

export const Certified = z.strictObject({
  id: Uuid,
  status: z.literal('SEALED'),
  sealedAt: Timestamp,
  proofId: Uuid,
  proof: Proof,
});
