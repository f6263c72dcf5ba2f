import type { CompletedPart, Part } from '@aws-sdk/client-s3';
import type { StoredPart } from '../interface/object-store.ts';
import { unquoted } from './version.ts';

const separator = ';sha256=';

/**
 * Returns the etag that callers keep: the server's ETag, with the checksum that the server
 * confirmed, if any, since a completion has to repeat the checksum.
 */
export function toPartEtag(ETag: string, sha256 = ''): string {
  return sha256 === '' ? unquoted(ETag) : unquoted(ETag) + separator + sha256;
}

export function toCompletedPart({ partNumber, etag }: StoredPart): CompletedPart {
  const [ETag, ChecksumSHA256] = etag.split(separator);
  return { PartNumber: partNumber, ETag, ChecksumSHA256 };
}

/**
 * Returns whether a listed part is the stored one. Checksums count only if the server lists them.
 */
export function isSamePart(part: StoredPart, listed: Part): boolean {
  const { ETag, ChecksumSHA256: stored = '' } = toCompletedPart(part);
  const { ETag: listedETag = '', ChecksumSHA256: listedChecksum = '' } = listed;
  if (stored !== '' && listedChecksum !== '' && listedChecksum !== stored) return false;
  return unquoted(listedETag) === ETag;
}
