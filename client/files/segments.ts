import { concatBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { headerBytes, parseFileHeader, type FileHeader } from './header.ts';

/** The segment at which a stream begins, within a file whose header is known. */
export interface SegmentStart {
  readonly header: FileHeader;
  /** Index of the first segment, from 0. */
  readonly index: number;
}

export interface Segment {
  readonly header: FileHeader;
  readonly index: number;
  readonly isLast: boolean;
  readonly chunk: Bytes;
}

/**
 * Cuts an encrypted stream into segments, whatever pieces it arrives in. Holds one segment and one
 * piece in memory. The segment in which the stream ends is marked as the last. Throws invalid_file
 * if `start` is missing and the stream does not begin with a header.
 * @param start the segment at which the stream begins; the default is the header of the file.
 */
export async function* readSegments(
  pieces: AsyncIterable<Uint8Array>,
  start?: SegmentStart,
): AsyncGenerator<Segment, void, void> {
  let header = start?.header;
  let index = start?.index ?? 0;
  let pending = new Uint8Array(header?.segmentSize ?? headerBytes);
  let filled = 0;

  const toSegment = (parsed: FileHeader, isLast: boolean): Segment => ({
    header: parsed,
    index,
    isLast,
    chunk: pending.slice(index === 0 ? headerBytes : 0, filled),
  });

  for await (const piece of pieces) {
    let taken = 0;
    while (taken < piece.length) {
      if (filled === pending.length) {
        if (header === undefined) {
          header = parseFileHeader(pending);
          pending = concatBytes(pending, new Uint8Array(header.segmentSize - headerBytes));
        } else {
          yield toSegment(header, false);
          index += 1;
          filled = 0;
        }
      }
      const bytes = piece.subarray(taken, taken + pending.length - filled);
      pending.set(bytes, filled);
      filled += bytes.length;
      taken += bytes.length;
    }
  }
  if (header === undefined) throw new ClientError('invalid_file');
  yield toSegment(header, true);
}
