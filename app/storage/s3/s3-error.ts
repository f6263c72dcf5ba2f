import { S3ServiceException } from '@aws-sdk/client-s3';
import { StorageError } from '../storage-error.ts';
import type { StorageErrorCode } from '../storage-error.ts';

const codes: Record<string, StorageErrorCode> = {
  NoSuchUpload: 'upload_not_found',
  NoSuchKey: 'object_not_found',
  NotFound: 'object_not_found',
  NoSuchVersion: 'version_changed',
  PreconditionFailed: 'version_changed',
  InvalidPart: 'part_mismatch',
  InvalidPartOrder: 'part_mismatch',
  EntityTooSmall: 'part_mismatch',
  InvalidRange: 'invalid_range',
};

/** What the SDK threw, as StorageError. A refused credential or a missing bucket is storage_unavailable as well. */
export function toStorageError(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const code = error instanceof S3ServiceException ? codes[error.name] : undefined;
  return new StorageError(code ?? 'storage_unavailable', { cause: error });
}
