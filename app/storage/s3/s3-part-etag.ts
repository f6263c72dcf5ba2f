import type { CompletedPart, Part } from '@aws-sdk/client-s3';
import type { StoredPart } from '../object-store.ts';
import { unquoted } from './s3-version.ts';

const separator = ';crc32=';

/** The etag callers keep: the server's, and the checksum it has confirmed, which a completion has to repeat. */
export function toPartEtag(ETag: string, crc32?: string): string {
  return crc32 ? unquoted(ETag) + separator + crc32 : unquoted(ETag);
}

export function toCompletedPart({ partNumber, etag }: StoredPart): CompletedPart {
  const [ETag, ChecksumCRC32] = etag.split(separator);
  return { PartNumber: partNumber, ETag, ChecksumCRC32 };
}

/** Whether the server lists what was stored. Not every server lists checksums. */
export function isSamePart(part: StoredPart, listed: Part): boolean {
  const { ETag, ChecksumCRC32 } = toCompletedPart(part);
  const hasOtherChecksum = ChecksumCRC32 && listed.ChecksumCRC32;
  if (hasOtherChecksum && listed.ChecksumCRC32 !== ChecksumCRC32) return false;
  return unquoted(listed.ETag ?? '') === ETag;
}
