import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import type { Documents } from '../documents/documents.ts';
import { openDocument, openVersion } from '../documents/open-document.ts';
import { decryptStream } from '../files/decryption.ts';
import type { CreateFileHash } from '../files/hash.ts';
import type { StoredFile } from '../files/stored-file.ts';
import type { Http } from '../http/http.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { fetchEncrypted } from './encrypted-file.ts';
import { downloadRange, type FileRange } from './range.ts';

export interface DownloadDependencies {
  readonly http: Http;
  readonly createFileHash: CreateFileHash;
}

export interface DownloadOptions {
  /** In place of the whole file; see `downloadRange` for what is verified then. */
  readonly range?: FileRange | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Downloads and decrypts a file, and goes on where a connection breaks. What was yielded is authentic
 * up to there, but only a generator that ends without an error has seen the whole file and its hash:
 * discard everything if it throws.
 *
 * Throws wrong_key; invalid_file, authentication_failed or file_hash_mismatch for other bytes than
 * those that were stored; version_conflict where a newer version came; network_error.
 */
export async function* downloadFile(
  { http, createFileHash }: DownloadDependencies,
  file: StoredFile,
  { range, signal }: DownloadOptions = {},
): AsyncGenerator<Bytes, void, void> {
  if (range !== undefined) {
    yield* downloadRange({ http }, file, range, signal);
    return;
  }
  const encrypted = fetchEncrypted(http, file, { first: 0 }, signal);
  yield* decryptStream(file.documentKey, compareHash(createFileHash, encrypted, file.fileHash));
}

/** `downloadFile` for the owner of a document. Throws also what opening the version throws. */
export async function* downloadDocument(
  dependencies: DownloadDependencies & { documents: Documents },
  {
    id,
    masterKey,
    earlierKeys,
    version,
    ...options
  }: DownloadOptions & MasterKeys & { id: string; version?: number },
): AsyncGenerator<Bytes, void, void> {
  const owned = { id, masterKey, earlierKeys };
  const file =
    version === undefined
      ? await openDocument(dependencies, owned)
      : await openVersion(dependencies, { ...owned, version });
  yield* downloadFile(dependencies, file, options);
}

/** Throws file_hash_mismatch in place of the end. */
async function* compareHash(
  createFileHash: CreateFileHash,
  pieces: AsyncIterable<Bytes>,
  expected: string,
): AsyncGenerator<Bytes, void, void> {
  const hash = await createFileHash();
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
  if (hash.digest() !== expected) throw new ClientError('file_hash_mismatch');
}
