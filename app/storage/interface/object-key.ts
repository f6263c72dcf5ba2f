import { StorageError } from './storage-error.ts';

/** S3's limit. */
const maxKeyBytes = 1024;
const unprintable = /\p{Cc}|\p{Cs}/u;

/**
 * Refuses keys that object stores treat differently: empty, over 1024 bytes of UTF-8, with control characters or lone
 * surrogates, or with an empty, `.` or `..` segment. Throws invalid_key.
 */
export function assertObjectKey(key: string): void {
  const odd = key
    .split('/')
    .some((segment) => segment === '' || segment === '.' || segment === '..');
  if (odd || unprintable.test(key) || Buffer.byteLength(key) > maxKeyBytes) {
    throw new StorageError('invalid_key');
  }
}
