import { readFileSync } from 'node:fs';
import type { BegunDownload } from '../audit/custody/custody.ts';
import type { EntryReader } from '../audit/entries/readers.ts';
import type { Proofs } from '../audit/proofs/proofs.ts';
import type { StoredFile } from '../documents/records/stored-files.ts';
import type { PublishedKeys } from '../signing-keys/published-keys.ts';
import type { ObjectStore } from '../storage/interface/object-store.ts';
import { StorageError, type StorageErrorCode } from '../storage/interface/storage-error.ts';
import { AppError } from '../errors/app-error.ts';
import type { ArchiveFile } from './archive.ts';
import { pemOf, proofFiles } from './proof-files.ts';
import { readTrail } from './trail.ts';

const fixed = ['README.txt', 'verify.sh', 'verify-entries.sh'].map((path) => ({
  path,
  content: readFileSync(new URL(`contents/${path}`, import.meta.url)),
}));

/** Says what an archive holds. */
export interface ExportedDocument {
  readonly documentId: string;
  /** Number of the last entry that is exported. */
  readonly through: number;
  /** The versions whose stored files are exported. */
  readonly files: readonly StoredFile[];
}

interface ExportedFilesOptions {
  readonly proofs: Proofs;
  readonly publishedKeys: PublishedKeys;
  readonly store: ObjectStore;
  /** Stores that the download of a file begins. */
  readonly begin: (file: StoredFile) => Promise<BegunDownload>;
  readonly reader: EntryReader;
  readonly signal: AbortSignal;
}

/**
 * Yields the files that the manifest of an archive lists: the proofs of the document's entries, the
 * audit keys of the vault, the stored files of versions, and the files that are the same in every
 * archive. Throws proof_not_ready, stored_file_changed if a stored file is not the one that was
 * hashed when it was added, and StorageError.
 */
export async function* exportedFiles(
  { documentId, through, files }: ExportedDocument,
  { proofs, publishedKeys, store, begin, reader, signal }: ExportedFilesOptions,
): AsyncGenerator<ArchiveFile, void, void> {
  yield* fixed;
  for await (const { seq, proof } of readTrail(proofs, reader, { documentId, through })) {
    yield* proofFiles(`entries/${String(seq).padStart(8, '0')}`, proof);
  }
  for (const key of await publishedKeys.list()) {
    if (key.purpose !== 'audit') continue;
    yield { path: `keys/${key.keyId}.pem`, content: pemOf(key.publicKey) };
    yield { path: `keys/${key.keyId}.json`, content: JSON.stringify(key) };
  }
  for (const file of files) {
    const content = recorded(await begin(file), readFile(store, file, signal));
    yield { path: `versions/${file.version}.bin`, content, hash: file.file_hash };
  }
}

/** The errors of the object store which mean that the hashed bytes are gone or were replaced. */
const damages: ReadonlySet<StorageErrorCode> = new Set(['object_not_found', 'version_changed']);

async function* readFile(
  store: ObjectStore,
  { storage_key: key, object_version: ifVersion }: StoredFile,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, void> {
  try {
    const { body } = await store.get(key, { ifVersion, signal });
    yield* body;
  } catch (error) {
    const isDamaged = error instanceof StorageError && damages.has(error.code);
    throw isDamaged ? new AppError('stored_file_changed', { cause: error }) : error;
  }
}

/** Passes the bytes of a file on, and records how many were read. */
async function* recorded(
  download: BegunDownload,
  content: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, void> {
  let bytes = 0;
  let isComplete = false;
  try {
    for await (const chunk of content) {
      bytes += chunk.length;
      yield chunk;
    }
    isComplete = true;
  } finally {
    if (bytes === 0 && !isComplete) download.cancel();
    else download.end({ bytes, isComplete });
  }
}
