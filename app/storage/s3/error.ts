import { S3ServiceException } from '@aws-sdk/client-s3';
import { StorageError, type StorageErrorCode } from '../interface/storage-error.ts';

/** By S3's error code, or by HTTP status where a server has a code of its own or an answer has no body. */
type ErrorMeanings = Record<string, StorageErrorCode>;

const meanings: ErrorMeanings = {
  NoSuchBucket: 'storage_unavailable',
  NoSuchUpload: 'upload_not_found',
  NoSuchKey: 'object_not_found',
  NoSuchVersion: 'version_changed',
  PreconditionFailed: 'version_changed',
  412: 'version_changed',
  InvalidPart: 'part_mismatch',
  InvalidPartOrder: 'part_mismatch',
  EntityTooSmall: 'part_mismatch',
  InvalidRange: 'invalid_range',
  416: 'invalid_range',
};

/**
 * What the SDK threw, as StorageError. A refused credential or a missing bucket is storage_unavailable as well.
 * @param special what an error means to this one operation.
 */
export function toStorageError(error: unknown, special: ErrorMeanings = {}): StorageError {
  if (error instanceof StorageError) return error;
  const code = error instanceof S3ServiceException ? codeOf(error, special) : undefined;
  return new StorageError(code ?? 'storage_unavailable', { cause: error });
}

function codeOf(
  { name, $metadata }: S3ServiceException,
  special: ErrorMeanings,
): StorageErrorCode | undefined {
  const all = { ...meanings, ...special };
  return all[name] ?? all[$metadata.httpStatusCode ?? ''];
}
