import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { openDocument, openVersion, type OpenDependencies } from '../documents/open-document.ts';
import { decryptStream } from '../files/decryption.ts';
import type { CreateHash } from '../crypto/hash.ts';
import type { StoredFile } from '../files/stored-file.ts';
import type { Http } from '../http/http.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { fetchEncrypted } from './encrypted-file.ts';
import { downloadRange, type FileRange } from './range.ts';

export interface DownloadDependencies {
  readonly http: Http;
  readonly createHash: CreateHash;
}

export interface DownloadOptions {
  /**
   * The range of the file to download; see `downloadRange` for what is verified in this case. The
   * default is the whole file.
   */
  readonly range?: FileRange | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Downloads and decrypts a file, and resumes after a broken connection. Every yielded piece is
 * authentic, but only a generator that ends without an error has verified the whole file and its
 * hash: discard everything if it throws.
 *
 * Throws wrong_key; invalid_file, authentication_failed or file_hash_mismatch if the vault sends
 * other bytes than were stored; version_conflict if it names another hash; network_error; and the
 * signal's reason if it is aborted.
 */
export async function* downloadFile(
  { http, createHash }: DownloadDependencies,
  file: StoredFile,
  { range, signal }: DownloadOptions = {},
): AsyncGenerator<Bytes, void, void> {
  if (range !== undefined) {
    yield* downloadRange({ http }, file, range, signal);
    return;
  }
  yield* decryptStream(file.fileKey, downloadEncrypted({ http, createHash }, file, signal));
}

/**
 * Downloads a file as it is stored, and resumes after a broken connection. Only a generator that
 * ends without an error has verified the hash: discard everything if it throws. Throws
 * file_hash_mismatch, version_conflict, network_error, and the signal's reason if it is aborted.
 */
export function downloadEncrypted(
  { http, createHash }: DownloadDependencies,
  file: Omit<StoredFile, 'fileKey'>,
  signal?: AbortSignal,
): AsyncGenerator<Bytes, void, void> {
  const encrypted = fetchEncrypted(http, file, { first: 0 }, signal);
  return compareHash(createHash, encrypted, file.fileHash);
}

/**
 * Downloads the file of a document as its owner: the given version, or by default the current one.
 * Throws what `downloadFile`, `openDocument` and `openVersion` throw.
 */
export async function* downloadDocument(
  dependencies: DownloadDependencies & OpenDependencies,
  {
    id,
    masterKey,
    earlierKeys,
    version,
    ...options
  }: DownloadOptions & MasterKeys & { readonly id: string; readonly version?: number },
): AsyncGenerator<Bytes, void, void> {
  const owned = { id, masterKey, earlierKeys };
  const file =
    version === undefined
      ? await openDocument(dependencies, owned)
      : await openVersion(dependencies, { ...owned, version });
  yield* downloadFile(dependencies, file, options);
}

/**
 * Yields all pieces unchanged. Throws file_hash_mismatch at the end unless their hash is
 * `expected`.
 */
async function* compareHash(
  createHash: CreateHash,
  pieces: AsyncIterable<Bytes>,
  expected: string,
): AsyncGenerator<Bytes, void, void> {
  const hash = await createHash('sha3-256');
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
  if (hash.digest() !== expected) throw new ClientError('file_hash_mismatch');
}
