import { createHash, type Hash } from 'node:crypto';
import { makeZip } from 'client-zip';
import { pemOf, proofFiles } from './proof-files.ts';
import { AppError } from '../errors/app-error.ts';
import type { AuditProof } from '../proof/proof.ts';

/** A file of an archive. `content` is read once, when its turn has come. */
export interface ArchiveFile {
  /** Path within the folder of the archive. */
  readonly path: string;
  readonly content: string | Buffer | AsyncIterable<Buffer>;
  /** The SHA3-256 in hex that the bytes must have; any if absent. */
  readonly hash?: string;
}

interface ArchiveOptions {
  /** The folder that the archive unpacks to. */
  readonly folder: string;
  /** The time that the files in the archive bear. */
  readonly at: Date;
  /** The files that the manifest lists, in its order. */
  readonly files: AsyncIterable<ArchiveFile>;
  /**
   * Called with the SHA3-256 of the manifest in hex, once all these files are written. Resolves
   * with the proof of the entry that records the hash.
   */
  readonly seal: (manifestHash: string) => Promise<AuditProof>;
}

/**
 * Writes an archive: a ZIP file, not compressed, with ZIP64 where it must be. It has the files,
 * `manifest.txt` with a line `<SHA3-256 in hex> *<path>` for each, and under `exported/` the proof
 * of the entry that records the hash of the manifest. Yields its bytes. Throws what `files` and
 * `seal` throw, and stored_file_changed for a file that does not have its hash.
 */
export async function* writeArchive(options: ArchiveOptions): AsyncGenerator<Buffer, void, void> {
  for await (const chunk of makeZip(inputsOf(options))) yield Buffer.from(chunk);
}

async function* inputsOf({ folder, at, files, seal }: ArchiveOptions) {
  const input = (path: string, content: ArchiveFile['content']) => ({
    name: `${folder}/${path}`,
    lastModified: at,
    input: content as string | Buffer<ArrayBuffer> | AsyncIterable<Buffer<ArrayBuffer>>,
  });
  const lines: string[] = [];
  for await (const { path, content, hash: expected } of files) {
    const hashing = createHash('sha3-256');
    yield input(path, hashed(hashing, content));
    const hash = hashing.digest('hex');
    if (expected !== undefined && hash !== expected) throw new AppError('stored_file_changed');
    lines.push(`${hash} *${path}\n`);
  }
  const manifest = lines.join('');
  yield input('manifest.txt', manifest);
  const proof = await seal(createHash('sha3-256').update(manifest).digest('hex'));
  for (const file of proofFiles('exported', proof)) yield input(file.path, file.content);
  yield input('exported/key.pem', pemOf(proof.publicKey));
}

/** Yields the bytes of a file, and feeds them to its hash. */
async function* hashed(hash: Hash, content: ArchiveFile['content']): AsyncGenerator<Buffer> {
  const chunks = typeof content === 'string' || Buffer.isBuffer(content) ? [content] : content;
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk);
    hash.update(bytes);
    yield bytes;
  }
}
