import { StorageError } from './storage-error.ts';

/** S3's limit on the length of a key, in UTF-8. */
const maxKeyBytes = 1024;
const unprintable = /\p{Cc}|\p{Cs}/u;

/**
 * Throws invalid_key for keys that object stores treat differently: empty, longer than 1024 bytes
 * of UTF-8, with control characters or lone surrogates, or with an empty, `.` or `..` segment.
 */
export function assertObjectKey(key: string): void {
  const odd = key
    .split('/')
    .some((segment) => segment === '' || segment === '.' || segment === '..');
  if (odd || unprintable.test(key) || Buffer.byteLength(key) > maxKeyBytes) {
    throw new StorageError('invalid_key');
  }
}
