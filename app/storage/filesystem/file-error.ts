import { StorageError, type StorageErrorCode } from '../interface/storage-error.ts';

export function hasErrno(error: unknown, ...errnos: string[]): boolean {
  return error instanceof Error && 'code' in error && errnos.includes(String(error.code));
}

/** The errors of a file system that takes no more data. Without free inodes, too, it is ENOSPC. */
const fullErrnos = ['ENOSPC', 'EDQUOT', 'EROFS'] as const;

/**
 * Converts a system error to a StorageError: ENOENT to `missing`, the errors of a file system that
 * takes no more data to storage_full, others to storage_unavailable.
 */
export function toStorageError(error: unknown, missing: StorageErrorCode): StorageError {
  if (error instanceof StorageError) return error;
  return new StorageError(codeOf(error, missing), { cause: error });
}

function codeOf(error: unknown, missing: StorageErrorCode): StorageErrorCode {
  if (hasErrno(error, ...fullErrnos)) return 'storage_full';
  return hasErrno(error, 'ENOENT') ? missing : 'storage_unavailable';
}
