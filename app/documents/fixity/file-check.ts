import type { ObjectHasher } from '../../storage/object-hash.ts';
import { StorageError, type StorageErrorCode } from '../../storage/interface/storage-error.ts';
import type { StoredFile } from '../records/stored-files.ts';

/** The result of a check of a stored file. */
export interface Finding {
  readonly state: 'whole' | 'damaged' | 'missing';
  /** SHA3-256 of the stored bytes in hex; null if they could not be read to the end. */
  readonly foundHash: string | null;
}

export interface CheckedFile {
  readonly file: StoredFile;
  readonly finding: Finding;
}

interface CheckOptions {
  /** The most bytes to read in a second; undefined for no limit. */
  readonly bytesPerSecond?: number;
}

/** The findings that follow from errors of a store. Other errors say nothing of an object. */
const damages: ReadonlyMap<StorageErrorCode, Finding> = new Map([
  ['object_not_found', { state: 'missing', foundHash: null }],
  ['version_changed', { state: 'damaged', foundHash: null }],
  // The store said that the object is empty.
  ['invalid_range', { state: 'damaged', foundHash: null }],
]);

export type CheckFile = ReturnType<typeof createFileCheck>;

/** Creates the function that reads stored files and compares them with their hashes. */
export function createFileCheck(hasher: Pick<ObjectHasher, 'hash'>) {
  async function look(file: StoredFile, options: CheckOptions): Promise<Finding> {
    try {
      const { sha3 } = await hasher.hash(file.storage_key, file.object_version, options);
      return { state: sha3 === file.file_hash ? 'whole' : 'damaged', foundHash: sha3 };
    } catch (error) {
      const damage = error instanceof StorageError ? damages.get(error.code) : undefined;
      if (damage === undefined) throw error;
      return damage;
    }
  }

  /**
   * Reads a stored file to its end. A file that is not whole is read once more, so that a fault in
   * transit is not taken for damage. Throws StorageError if the store gave no answer that says
   * anything of the file: retry later.
   */
  return async (file: StoredFile, options: CheckOptions = {}): Promise<Finding> => {
    const finding = await look(file, options);
    return finding.state === 'whole' ? finding : look(file, options);
  };
}
