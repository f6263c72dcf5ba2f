import { concatBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import type { ByteSource } from './byte-source.ts';
import { createChunkCipher } from './chunk.ts';
import { verifyCommitment, type FileHeader } from './header.ts';
import { chunkRange, countSegments } from './layout.ts';

/**
 * Encrypts a file and yields it segment by segment; docs/formats.md describes the bytes.
 *
 * A header MUST NOT be used for two plaintexts. A caller that encrypts again under the same header,
 * to resume an upload, MUST NOT send a segment unless it equals the segment that was sent with the
 * same index before. Throws wrong_key if the header belongs to another file key, source_changed
 * if the source has become shorter.
 * @param onPlaintext is called with each chunk while it is encrypted, and waited for.
 */
export async function* encryptFile(
  fileKey: Bytes,
  header: FileHeader,
  source: ByteSource,
  onPlaintext: (plaintext: Bytes) => Promise<void> = async () => {},
): AsyncGenerator<Bytes, void, void> {
  await verifyCommitment(fileKey, header);
  const cipher = await createChunkCipher(fileKey, header);
  const segments = countSegments(source.size, header.segmentSize);
  for (let index = 0; index < segments; index += 1) {
    const { offset, length } = chunkRange(index, source.size, header.segmentSize);
    const plaintext = await source.read(offset, length);
    if (plaintext.length !== length) throw new ClientError('source_changed');
    const [chunk] = await Promise.all([
      cipher.encrypt({ index, isLast: index === segments - 1 }, plaintext),
      onPlaintext(plaintext),
    ]);
    yield index === 0 ? concatBytes(header.encoded, chunk) : chunk;
  }
}
