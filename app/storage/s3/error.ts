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
  // versitygw and Ceph over a quota, versitygw and MinIO without space, MinIO and Huawei OBS over a
  // quota.
  QuotaExceeded: 'storage_full',
  InsufficientStorage: 'storage_full',
  XMinioStorageFull: 'storage_full',
  XMinioAdminBucketQuotaExceeded: 'storage_full',
  InsufficientStorageSpace: 'storage_full',
  507: 'storage_full',
};

/** The words with which a server that reports InternalError passes on an error of its disk. */
const fullWords = /no space left on device|disk quota exceeded/i;

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
  { name, message, $metadata }: S3ServiceException,
  special: ErrorMeanings,
): StorageErrorCode | undefined {
  const all = { ...meanings, ...special };
  const code = all[name] ?? all[$metadata.httpStatusCode ?? ''];
  return code ?? (fullWords.test(message) ? 'storage_full' : undefined);
}
