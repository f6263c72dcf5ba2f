import { z } from 'zod';
import { Timestamp, Uuid } from '../../http/bodies/wire.ts';
import { maxParts } from './limits.ts';

export const UploadConfig = z.strictObject({
  maxFileSize: z.int(),
  minPartSize: z.int(),
  maxPartSize: z.int(),
  maxParts: z.int(),
  sessionTTL: z.int(),
  allowedMimeTypes: z.array(z.string()),
});

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
  .refine((name) => name !== '.' && name !== '..', 'is not a file name');

export const CreateUpload = z.strictObject({
  fileName: FileName,
  fileSize: z.int().positive(),
  mimeType: z.string().min(1).max(255),
  totalParts: z.int().positive().max(maxParts),
});

export const CreatedUpload = z.strictObject({
  sessionId: Uuid,
  uploadId: z.string(),
  expiresAt: Timestamp,
});

export const SessionId = z.strictObject({ sessionId: Uuid });

export const PartPath = z.strictObject({
  sessionId: Uuid,
  partNumber: z
    .string()
    .regex(/^[1-9][0-9]{0,3}$/, 'must be an integer from 1 to 1000')
    .transform(Number)
    .pipe(z.number().max(maxParts)),
});

export const StoredPart = z.strictObject({
  partNumber: z.int(),
  size: z.int(),
  etag: z.string(),
  checksumSha256: z.string(),
  uploadedParts: z.int(),
  uploadedBytes: z.int(),
});

export const CompletedUpload = z.strictObject({
  sessionId: Uuid,
  fileKey: z.string(),
  fileSize: z.int(),
  completedAt: Timestamp,
});

export const AbortedUpload = z.strictObject({
  sessionId: Uuid,
  status: z.literal('ABORTED'),
  abortedAt: Timestamp,
});

export const UploadProgress = z.strictObject({
  sessionId: Uuid,
  status: z.enum(['IN_PROGRESS', 'COMPLETED', 'ABORTED', 'EXPIRED']),
  uploadedParts: z.int(),
  totalParts: z.int(),
  uploadedBytes: z.int(),
  totalBytes: z.int(),
  expiresAt: Timestamp,
  /**
   * The storage path; present only if the upload is completed, for clients that did not receive the
   * response to the completion.
   */
  fileKey: z.string().optional(),
});
