import { z } from 'zod';
import { Digest, IntegerText, Timestamp, Uuid } from '../../http/bodies/wire.ts';
import { maxFileSize, maxParts } from './limits.ts';

export const UploadConfig = z
  .strictObject({
    maxFileSize: z.int().min(1).describe('Maximum size of a file in bytes.'),
    minPartSize: z.int().min(1).describe('Minimum size of a part in bytes, but the last part.'),
    maxPartSize: z.int().min(1).describe('Maximum size of a part in bytes.'),
    maxParts: z.int().min(1).describe('Maximum number of parts.'),
    sessionTTL: z.int().min(1).describe('Seconds for which an upload session stays open.'),
    allowedMimeTypes: z.array(z.string()).describe('Media types that a file may have.'),
  })
  .meta({ id: 'UploadConfiguration' });

/**
 * A file name, normalized to NFC: at most 255 bytes of UTF-8, no control characters or separators,
 * and neither `.` nor `..`.
 */
const FileName = z
  .string()
  .min(1)
  .transform((name) => name.normalize('NFC'))
  .refine((name) => Buffer.byteLength(name) <= 255, 'must be at most 255 bytes')
  .refine((name) => !/[\p{Cc}\p{Zl}\p{Zp}/\\]/u.test(name), 'has a control character or separator')
  .refine((name) => name !== '.' && name !== '..', 'is not a file name')
  .meta({
    description:
      'Name of the file: at most 255 bytes of UTF-8 in NFC, without control characters, `/` ' +
      'and `\\`. It is stored in the clear.',
  });

export const CreateUpload = z
  .strictObject({
    fileName: FileName,
    fileSize: z
      .int()
      .min(1)
      .describe(`Size of the encrypted file in bytes, at most ${maxFileSize}.`),
    mimeType: z.string().min(1).max(255).describe('Media type: one of `allowedMimeTypes`.'),
    totalParts: z
      .int()
      .min(1)
      .max(maxParts)
      .describe('Number of parts; each but the last has the minimum size or more.'),
  })
  .meta({ id: 'UploadCreation' });

const sessionId = Uuid.describe('Id of the upload session.');

export const CreatedUpload = z
  .strictObject({
    sessionId,
    uploadId: z.string().describe('Id of the multipart upload in the object store.'),
    expiresAt: Timestamp.describe('Until when parts are accepted.'),
  })
  .meta({ id: 'UploadSession' });

export const SessionId = z.strictObject({ sessionId });

export const PartPath = z.strictObject({
  sessionId,
  partNumber: IntegerText(1, maxParts).describe('Number of the part, from 1.'),
});

const uploadedParts = z.int().min(0).describe('Number of parts that are stored.');
const uploadedBytes = z.int().min(0).describe('Bytes of the parts that are stored.');
const fileKey = z
  .string()
  .describe('The `storagePath` by which a document takes the file: `<uuid>/<file name>`.');

export const StoredPart = z
  .strictObject({
    partNumber: z.int().min(1).max(maxParts).describe('Number of the part.'),
    size: z.int().min(1).describe('Size of the part in bytes.'),
    etag: z.string().describe('Entity tag of the part in the object store.'),
    checksumSha256: Digest.describe('SHA-256 of the part, in hex.'),
    uploadedParts,
    uploadedBytes,
  })
  .meta({ id: 'StoredPart' });

export const CompletedUpload = z
  .strictObject({
    sessionId,
    fileKey,
    fileSize: z.int().min(1).describe('Size of the file in bytes.'),
    completedAt: Timestamp.describe('When the file was assembled; it must be used within a day.'),
  })
  .meta({ id: 'CompletedUpload' });

export const AbortedUpload = z
  .strictObject({
    sessionId,
    status: z.literal('ABORTED').describe('The session accepts nothing more.'),
    abortedAt: Timestamp.describe('When the upload was first aborted.'),
  })
  .meta({ id: 'AbortedUpload' });

export const UploadProgress = z
  .strictObject({
    sessionId,
    status: z.enum(['IN_PROGRESS', 'COMPLETED', 'ABORTED', 'EXPIRED']).describe('State.'),
    uploadedParts,
    totalParts: z.int().min(1).describe('Number of parts that were announced.'),
    uploadedBytes,
    totalBytes: z.int().min(1).describe('Size of the file that was announced, in bytes.'),
    expiresAt: Timestamp.describe('Until when parts are accepted.'),
    fileKey: fileKey
      .optional()
      .describe('The `storagePath` of the file; present only if the upload is completed.'),
  })
  .meta({ id: 'UploadProgress' });
