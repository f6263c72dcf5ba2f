import { concatBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { decryptSegments } from '../files/decryption.ts';
import { headerBytes, parseFileHeader } from '../files/header.ts';
import { chunkOffset, segmentOf } from '../files/layout.ts';
import { readSegments, type Segment } from '../files/segments.ts';
import type { StoredFile } from '../files/stored-file.ts';
import type { Http } from '../http/http.ts';
import { fetchEncrypted, type EncryptedRange } from './encrypted-file.ts';

/** A range in bytes of the file before encryption. */
export interface FileRange {
  readonly offset: number;
  /** Number of bytes, at least 1, or Infinity. The file may end earlier. */
  readonly length: number;
}

/**
 * Downloads and decrypts a range of a file. Verifies that each segment is authentic, of this
 * version and in its place, and where the file ends. Does not verify the hash of the whole file.
 * Throws what `fetchEncrypted` and `decryptStream` throw,
 * and RangeError for an invalid range.
 */
export async function* downloadRange(
  { http }: { readonly http: Http },
  file: StoredFile,
  { offset, length }: FileRange,
  signal?: AbortSignal,
): AsyncGenerator<Bytes, void, void> {
  assertRange({ offset, length });
  const fetchRange = (range: EncryptedRange) => fetchEncrypted(http, file, range, signal);
  const head: Bytes[] = [];
  for await (const piece of fetchRange({ first: 0, last: headerBytes - 1 })) head.push(piece);
  const header = parseFileHeader(concatBytes(...head));
  const { segmentSize } = header;

  const end = offset + length;
  const start = { header, index: segmentOf(offset, segmentSize) };
  const last = segmentOf(end - 1, segmentSize);
  // One more byte is requested, which shows whether another segment follows.
  const pieces = fetchRange({ first: start.index * segmentSize, last: (last + 1) * segmentSize });
  const segments = through(last, readSegments(pieces, start));
  for await (const { index, plaintext } of decryptSegments(file.fileKey, segments)) {
    const chunkAt = chunkOffset(index, segmentSize);
    const wanted = plaintext.subarray(Math.max(0, offset - chunkAt), end - chunkAt);
    if (wanted.length > 0) yield wanted;
  }
}

function assertRange({ offset, length }: FileRange): void {
  const isRange = Number.isSafeInteger(offset) && offset >= 0 && length >= 1;
  if (!isRange || !(Number.isSafeInteger(length) || length === Infinity)) {
    throw new RangeError('A range needs an offset of 0 or more and a length of 1 or more.');
  }
}

async function* through(last: number, segments: AsyncIterable<Segment>) {
  for await (const segment of segments) {
    yield segment;
    if (segment.index === last) return;
  }
}
