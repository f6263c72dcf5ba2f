import { z } from 'zod';
import { Proof } from '../../proof/schema.ts';
import {
  Base64,
  Base64Text,
  Digest,
  IntegerText,
  Limit,
  Timestamp,
  Uuid,
  UuidCursor,
} from '../../http/bodies/wire.ts';

const maxMetadataBytes = 65_536;
/** The greatest number of a version that a cursor or query can name. */
const maxVersion = 9_999;

export const DocumentStatus = z
  .enum(['PENDING', 'SEALED', 'EXPIRED'])
  .describe('`PENDING` until the version is sealed (`SEALED`) or was not in time (`EXPIRED`).');

const EncryptedMetadata = Base64(maxMetadataBytes)
  .min(1)
  .describe('Metadata, encrypted by the client: base64 of at most 64 KiB.');

/** HMACs of keywords, which the client computes with a key that only the client has. */
const Keywords = z
  .array(Digest)
  .max(200)
  .describe(
    'Hashes of at most 200 keywords for the search: HMAC-SHA-256 under a key that only the ' +
      'client has, in hex.',
  );

const StoragePath = z
  .string()
  .min(1)
  .max(1024)
  .describe('The `fileKey` of a completed upload that no document uses: `<uuid>/<file name>`.');

const documentId = Uuid.describe('Id of the document.');
const storedMetadata = Base64Text.describe('Metadata as the client encrypted it: base64.');
const fileHash = Digest.describe(
  'SHA3-256 of the encrypted file, computed by the server from the stored bytes: hex.',
);

const ContentCommitment = Digest.optional().describe(
  'The client’s commitment to the file before it was encrypted, 64 hex digits. The entries of ' +
    'this version carry it.',
);

export const CreateDocument = z
  .strictObject({
    id: Uuid.optional().describe(
      'Id for the document: a random UUID that no document ever had. Default: the service ' +
        'makes one.',
    ),
    encryptedMetadata: EncryptedMetadata,
    keywordDeterministic: Keywords,
    storagePath: StoragePath,
    contentCommitment: ContentCommitment,
  })
  .meta({ id: 'DocumentCreation' });

export const ReplaceMetadata = z
  .strictObject({
    encryptedMetadata: EncryptedMetadata,
    keywordDeterministic: Keywords.optional().describe(
      'Hashes of at most 200 keywords, in hex. Default: the keywords stay as they are.',
    ),
  })
  .meta({ id: 'MetadataChange' });

export const AddVersion = z
  .strictObject({
    storagePath: StoragePath,
    contentCommitment: ContentCommitment,
    encryptedMetadata: EncryptedMetadata.optional().describe(
      'Metadata, encrypted by the client. Default: that of the version before.',
    ),
  })
  .meta({ id: 'VersionCreation' });

export const DocumentId = z.strictObject({ id: documentId });

export const DocumentView = z
  .strictObject({
    id: documentId,
    userId: Uuid.describe('Id of the owner.'),
    encryptedMetadata: storedMetadata,
    fileHash,
    status: DocumentStatus,
    createdAt: Timestamp.describe('When the document was created.'),
    fixityVerifiedAt: Timestamp.nullable().describe(
      'When the stored file of the version was last read to its end and had its hash, after the ' +
        'upload; null if never.',
    ),
  })
  .meta({ id: 'Document' });

export const DocumentPage = z.strictObject({ limit: Limit, cursor: UuidCursor });

export const DocumentSummary = z
  .strictObject({
    id: documentId,
    encryptedMetadata: storedMetadata,
    status: DocumentStatus,
    createdAt: Timestamp.describe('When the document was created.'),
  })
  .meta({ id: 'DocumentSummary' });

export const DocumentList = z.array(DocumentSummary);

export const VersionView = z
  .strictObject({
    documentId,
    version: z.int().min(1).describe('Number of the version, from 1 without gaps.'),
    encryptedMetadata: storedMetadata,
    fileHash,
    status: DocumentStatus,
    createdAt: Timestamp.describe('When the version was added.'),
  })
  .meta({ id: 'DocumentVersion' });

export const VersionPage = z.strictObject({
  limit: Limit,
  cursor: IntegerText(1, maxVersion)
    .optional()
    .describe('Place after which the page begins, from the `Link` of the page before.'),
});

export const VersionList = z.array(VersionView);

export const DocumentHash = z
  .strictObject({
    hash: fileHash,
    algorithm: z.literal('SHA3-256').describe('Hash function (FIPS 202).'),
  })
  .meta({ id: 'DocumentHash' });

export const Certified = z
  .strictObject({
    id: documentId,
    status: z.literal('SEALED').describe('The version can no longer change.'),
    sealedAt: Timestamp.describe('When the version was sealed.'),
    proofId: Uuid.describe('Id of the audit entry that seals the version.'),
    proof: Proof.describe('The signed audit proof of that entry.'),
  })
  .meta({ id: 'Certification' });

/** The member that names the audit proof of a sealed document, in errors. */
export const SealReference = z.strictObject({
  proofId: Uuid.describe('Id of the audit proof of the sealing: `GET /v1/audit/proof/{id}`.'),
});
