import { crc32 } from 'node:zlib';
import type { BodyEncoding } from '../exact-body.ts';

/**
 * The `aws-chunked` encoding with a CRC-32 in the trailer and an unsigned payload: S3 stores the part only if the
 * checksum of what arrived is ours. Chunks have a fixed size, so that the encoded length is known beforehand: large,
 * as each costs writes of its own, yet under the 16 MiB that MinIO takes.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
 */
const chunkBytes = 8 * 1024 * 1024;
const lineEnd = '\r\n';
const trailerName = 'x-amz-checksum-crc32';

const chunkHeader = (length: number) => length.toString(16) + lineEnd;
const trailer = (crc: string) => `0${lineEnd}${trailerName}:${crc}${lineEnd}${lineEnd}`;

function encodedChunkLength(length: number): number {
  return length === 0 ? 0 : chunkHeader(length).length + length + lineEnd.length;
}

function encodedLength(size: number): number {
  const whole = Math.floor(size / chunkBytes) * encodedChunkLength(chunkBytes);
  return whole + encodedChunkLength(size % chunkBytes) + trailer('AAAAAA==').length;
}

/** The headers that announce a body of `size` bytes in this encoding. */
export function awsChunkedHeaders(size: number): Record<string, string> {
  return {
    'content-encoding': 'aws-chunked',
    'content-length': String(encodedLength(size)),
    'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    'x-amz-decoded-content-length': String(size),
    'x-amz-trailer': trailerName,
  };
}

/** Encodes one body of exactly `size` bytes. `checksum` is the base64 of its CRC-32, once it has ended. */
export function awsChunked(size: number): BodyEncoding & { checksum(): string } {
  let unframed = size;
  let leftInChunk = 0;
  let crc = 0;
  function checksum(): string {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(crc);
    return bytes.toString('base64');
  }
  return {
    write(bytes, push) {
      crc = crc32(bytes, crc);
      for (let offset = 0; offset < bytes.length;) {
        if (leftInChunk === 0) {
          leftInChunk = Math.min(chunkBytes, unframed);
          unframed -= leftInChunk;
          push(chunkHeader(leftInChunk));
        }
        const piece = bytes.subarray(offset, offset + leftInChunk);
        push(piece);
        offset += piece.length;
        leftInChunk -= piece.length;
        if (leftInChunk === 0) push(lineEnd);
      }
    },
    end: (push) => push(trailer(checksum())),
    checksum,
  };
}
