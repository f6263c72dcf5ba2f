/**
 * - `invalid_key`: the key breaks the rules of object-key.ts
 * - `upload_not_found`: unknown, completed or aborted multipart upload
 * - `object_not_found`: nothing is stored under the key
 * - `part_mismatch`: a part is missing, was replaced, or is too small for the store
 * - `version_changed`: the bytes asked for are no longer the ones stored
 * - `key_in_use`: an object is already stored under the key
 * - `invalid_range`: no byte of the object is in the range
 * - `body_incomplete`, `body_too_long`: the body was not exactly as long as announced
 * - `storage_unavailable`: everything else; try again later
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
  | 'storage_unavailable';

/** What every store throws. What the server or the system said is in `cause`. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: StorageErrorCode;

  constructor(code: StorageErrorCode, options?: ErrorOptions) {
    super(code, options);
    this.code = code;
  }
}
