import { concatBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { decryptSegments } from '../files/decryption.ts';
import { headerBytes, parseFileHeader } from '../files/header.ts';
import { chunkOffset, segmentOf } from '../files/layout.ts';
import { readSegments, type Segment } from '../files/segments.ts';
import type { StoredFile } from '../files/stored-file.ts';
import type { Http } from '../http/http.ts';
import { fetchEncrypted, type EncryptedRange } from './encrypted-file.ts';

/** In bytes of the file before encryption. */
export interface FileRange {
  readonly offset: number;
  /** At least 1. The file may end before. */
  readonly length: number;
}

/**
 * Fetches and decrypts the segments of a range. Each is authentic and in its place, the file's end
 * included; the hash of the whole file is not compared, so that the vault could answer another
 * version of the document.
 * Throws what `fetchEncrypted` and `decryptStream` throw, and RangeError for what is no range.
 */
export async function* downloadRange(
  { http }: { http: Http },
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
  // One byte more tells whether there is another segment.
  const pieces = fetchRange({ first: start.index * segmentSize, last: (last + 1) * segmentSize });
  const segments = through(last, readSegments(pieces, start));
  for await (const { index, plaintext } of decryptSegments(file.documentKey, segments)) {
    const chunkAt = chunkOffset(index, segmentSize);
    const wanted = plaintext.subarray(Math.max(0, offset - chunkAt), end - chunkAt);
    if (wanted.length > 0) yield wanted;
  }
}

function assertRange({ offset, length }: FileRange): void {
  const isRange = Number.isSafeInteger(offset) && offset >= 0 && length >= 1;
  if (!isRange || !(Number.isSafeInteger(length) || length === Infinity)) {
    throw new RangeError('a range begins at a byte and has one at least');
  }
}

async function* through(last: number, segments: AsyncIterable<Segment>) {
  for await (const segment of segments) {
    yield segment;
    if (segment.index === last) return;
  }
}
