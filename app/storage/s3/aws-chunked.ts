import type { BodyEncoding } from '../interface/exact-body.ts';

/**
 * Chunk size of the `aws-chunked` encoding with an unsigned payload and a SHA-256 in the trailer:
 * S3 stores a part only if the checksum of the received bytes matches. The chunk size is fixed, so
 * that the encoded length is known in advance. It is large, since each chunk costs extra writes,
 * but below MinIO's limit of 16 MiB.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming-trailers.html
 */
const chunkBytes = 8 * 1024 * 1024;
const lineEnd = '\r\n';
const trailerName = 'x-amz-checksum-sha256';

const chunkHeader = (length: number) => length.toString(16) + lineEnd;
const trailer = (sha256: string) => `0${lineEnd}${trailerName}:${sha256}${lineEnd}${lineEnd}`;
/** Length of 32 bytes in base64. */
const sha256Length = 44;

function encodedChunkLength(length: number): number {
  return length === 0 ? 0 : chunkHeader(length).length + length + lineEnd.length;
}

function encodedLength(size: number): number {
  const whole = Math.floor(size / chunkBytes) * encodedChunkLength(chunkBytes);
  return whole + encodedChunkLength(size % chunkBytes) + trailer('').length + sha256Length;
}

/** Returns the headers that announce a body of `size` bytes in this encoding. */
export function awsChunkedHeaders(size: number): Record<string, string> {
  return {
    'content-encoding': 'aws-chunked',
    'content-length': String(encodedLength(size)),
    'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    'x-amz-decoded-content-length': String(size),
    'x-amz-trailer': trailerName,
  };
}

/** Creates the encoding of one body of exactly `size` bytes. */
export function awsChunked(size: number): BodyEncoding {
  let unframed = size;
  let leftInChunk = 0;
  return {
    write(bytes, push) {
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
    end: (push, sha256) => push(trailer(sha256)),
  };
}
