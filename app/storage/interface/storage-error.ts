/**
 * Reasons for which a store fails:
 * - `invalid_key`: the key breaks the rules of object-key.ts
 * - `upload_not_found`: unknown, completed or aborted multipart upload
 * - `object_not_found`: nothing is stored under the key
 * - `part_mismatch`: a part is missing, was replaced, or is too small for the store
 * - `version_changed`: the stored bytes are no longer the requested ones
 * - `key_in_use`: an object is already stored under the key
 * - `invalid_range`: no byte of the object is in the range
 * - `body_incomplete`, `body_too_long`: the length of the body was not the announced one
 * - `storage_full`: the store takes no more data, as it has no space or inodes left, a quota is
 *   used up, or its file system is read-only; reads go on, and writes once there is room
 * - `storage_unavailable`: any other failure; retry later
 */
export type StorageErrorCode =
  | 'invalid_key'
  | 'upload_not_found'
  | 'object_not_found'
  | 'part_mismatch'
  | 'version_changed'
  | 'key_in_use'
  | 'invalid_range'
  | 'body_incomplete'
  | 'body_too_long'
  | 'storage_full'
  | 'storage_unavailable';

/** The error that every store throws. The error of the server or the system is its `cause`. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, options?: ErrorOptions) {
    super(code, options);
    this.code = code;
  }
}
