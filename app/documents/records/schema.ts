import { z } from 'zod';
import { Proof } from '../../proof/schema.ts';
import { Base64, Digest, Limit, Timestamp, Uuid } from '../../http/bodies/wire.ts';

const maxMetadataBytes = 65_536;
export const DocumentStatus = z.enum(['PENDING', 'SEALED', 'EXPIRED']);
const EncryptedMetadata = Base64(maxMetadataBytes).min(1);
/** HMACs of keywords, which the client computes with a key that only the client has. */
const Keywords = z.array(Digest).max(200);
const StoragePath = z.string().min(1).max(1024);

export const CreateDocument = z.strictObject({
  encryptedMetadata: EncryptedMetadata,
  keywordDeterministic: Keywords,
  storagePath: StoragePath,
});

export const ReplaceMetadata = z.strictObject({
  encryptedMetadata: EncryptedMetadata,
  keywordDeterministic: Keywords.optional(),
});

export const AddVersion = z.strictObject({
  storagePath: StoragePath,
  encryptedMetadata: EncryptedMetadata.optional(),
});

export const DocumentId = z.strictObject({ id: Uuid });

export const DocumentView = z
  .strictObject({
    id: Uuid,
    userId: Uuid,
    encryptedMetadata: z.string(),
    fileHash: z.string(),
    status: DocumentStatus,
    createdAt: Timestamp,
  })
  .meta({ id: 'Document' });

export const DocumentPage = z.strictObject({ limit: Limit, cursor: Uuid.optional() });

export const DocumentList = z.array(
  z.strictObject({
    id: Uuid,
    encryptedMetadata: z.string(),
    status: DocumentStatus,
    createdAt: Timestamp,
  }),
);

export const VersionView = z
  .strictObject({
    documentId: Uuid,
    version: z.int(),
    fileHash: z.string(),
    status: DocumentStatus,
    createdAt: Timestamp,
  })
  .meta({ id: 'DocumentVersion' });

export const VersionPage = z.strictObject({
  limit: Limit,
  cursor: z
    .string()
    .regex(/^[1-9][0-9]{0,3}$/, 'must be the cursor that the previous page returned')
    .transform(Number)
    .optional(),
});

export const VersionList = z.array(VersionView);

export const DocumentHash = z.strictObject({ hash: z.string(), algorithm: z.literal('SHA3-256') });

export const DocumentProofList = z.strictObject({ documentId: Uuid, proofs: z.array(Proof) });

export const Certified = z.strictObject({
  id: Uuid,
  status: z.literal('SEALED'),
  sealedAt: Timestamp,
  proofId: Uuid,
  proof: Proof,
});
