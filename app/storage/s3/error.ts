import { S3ServiceException } from '@aws-sdk/client-s3';
import { StorageError, type StorageErrorCode } from '../interface/storage-error.ts';

/**
 * Maps S3 error codes to our codes. HTTP statuses are the fallback for servers with codes of their
 * own and for responses without a body.
 */
type ErrorMeanings = Readonly<Record<string, StorageErrorCode>>;

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
 * Converts an error of the SDK to a StorageError. Refused credentials and a missing bucket also
 * become storage_unavailable.
 * @param special codes that override the general ones for one operation.
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
