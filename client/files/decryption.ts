import type { Bytes } from '../bytes/bytes.ts';
import { readStream } from '../bytes/read-stream.ts';
import { ClientError } from '../errors/client-error.ts';
import { createChunkCipher, type ChunkCipher } from './chunk.ts';
import { verifyCommitment } from './header.ts';
import { readSegments, type Segment } from './segments.ts';

/**
 * Decrypts a file as it arrives. Every yielded piece is authentic, but only a generator that ends
 * without an error has verified the whole file: discard everything if it throws.
 *
 * Throws invalid_file if the bytes are not a file of this format, wrong_key, or
 * authentication_failed if any part of the file was changed, moved, dropped, added or truncated.
 */
export async function* decryptStream(
  fileKey: Bytes,
  encrypted: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Bytes, void, void> {
  const segments = readSegments(toIterable(encrypted));
  for await (const { plaintext } of decryptSegments(fileKey, segments)) {
    if (plaintext.length > 0) yield plaintext;
  }
}

/**
 * Decrypts segments of one file and yields their chunks. Throws wrong_key or authentication_failed.
 */
export async function* decryptSegments(
  fileKey: Bytes,
  segments: AsyncIterable<Segment>,
): AsyncGenerator<{ readonly index: number; readonly plaintext: Bytes }, void, void> {
  let cipher: ChunkCipher | undefined;
  for await (const { header, chunk, ...position } of segments) {
    if (cipher === undefined) {
      await verifyCommitment(fileKey, header);
      cipher = await createChunkCipher(fileKey, header);
    }
    const plaintext = await cipher.decrypt(position, chunk);
    if (plaintext.length === 0 && position.index > 0) {
      throw new ClientError('authentication_failed');
    }
    yield { index: position.index, plaintext };
  }
}

function toIterable(
  stream: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  return 'getReader' in stream ? readStream(stream) : stream;
}
