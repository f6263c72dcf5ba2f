import { StorageError, type StorageErrorCode } from '../interface/storage-error.ts';

export function hasErrno(error: unknown, ...errnos: string[]): boolean {
  return error instanceof Error && 'code' in error && errnos.includes(String(error.code));
}

/**
 * Converts a system error to a StorageError: ENOENT to `missing`, others to storage_unavailable.
 */
export function toStorageError(error: unknown, missing: StorageErrorCode): StorageError {
  if (error instanceof StorageError) return error;
  const code = hasErrno(error, 'ENOENT') ? missing : 'storage_unavailable';
  return new StorageError(code, { cause: error });
}
