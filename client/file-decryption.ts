import type { Bytes } from './bytes.ts';
import { ClientError } from './client-error.ts';
import { createChunkCipher } from './file-chunk.ts';
import type { ChunkCipher } from './file-chunk.ts';
import { verifyCommitment } from './file-header.ts';
import { readSegments } from './segments.ts';

/**
 * Decrypts a file as it arrives. What was yielded is authentic up to there, but only a generator that
 * ends without an error has seen the whole file: discard everything if it throws.
 *
 * Throws invalid_file (no file of the vault), wrong_key, or authentication_failed for anything
 * changed, moved, dropped, added or cut off.
 */
export async function* decryptStream(
  documentKey: Bytes,
  encrypted: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Bytes, void, void> {
  let cipher: ChunkCipher | undefined;
  for await (const { header, chunk, ...position } of readSegments(toIterable(encrypted))) {
    if (cipher === undefined) {
      await verifyCommitment(documentKey, header);
      cipher = await createChunkCipher(documentKey, header);
    }
    const plaintext = await cipher.decrypt(position, chunk);
    if (plaintext.length > 0) yield plaintext;
    else if (position.index > 0) throw new ClientError('authentication_failed');
  }
}

/** Not every browser iterates a ReadableStream by itself. */
function toIterable(
  stream: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  return 'getReader' in stream ? readAll(stream) : stream;
}

async function* readAll(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        ended = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!ended) await reader.cancel();
  }
}
