import type { CompletedPart, Part } from '@aws-sdk/client-s3';
import type { StoredPart } from '../interface/object-store.ts';
import { unquoted } from './version.ts';

const separator = ';sha256=';

/** The etag callers keep: the server's, and the checksum it has confirmed, which a completion has to repeat. */
export function toPartEtag(ETag: string, sha256?: string): string {
  return sha256 ? unquoted(ETag) + separator + sha256 : unquoted(ETag);
}

export function toCompletedPart({ partNumber, etag }: StoredPart): CompletedPart {
  const [ETag, ChecksumSHA256] = etag.split(separator);
  return { PartNumber: partNumber, ETag, ChecksumSHA256 };
}

/** Whether the server lists what was stored. Not every server lists checksums. */
export function isSamePart(part: StoredPart, listed: Part): boolean {
  const { ETag, ChecksumSHA256 } = toCompletedPart(part);
  const hasOtherChecksum = ChecksumSHA256 && listed.ChecksumSHA256;
  if (hasOtherChecksum && listed.ChecksumSHA256 !== ChecksumSHA256) return false;
  return unquoted(listed.ETag ?? '') === ETag;
}
