import type { Database, Owner } from '../../db/database.ts';
import type { ObjectHasher } from '../../storage/object-hash.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';
import type { Log } from '../../telemetry/log.ts';

/** A completed upload's object. */
export interface StoredFile {
  /** Upload session. */
  readonly id: string;
  readonly key: string;
  readonly version: string;
  /** Bytes. */
  readonly size: number;
}

/** SHA3-256 of completed uploads: begun at completion, kept with the session, never computed twice here. */
export interface FileHashes {
  /** Begins in the background; a failure is tried again by whoever needs the hash. */
  start(owner: Owner, file: StoredFile): void;
  /** 64 hex digits, once known. Rejects with StorageError. */
  wait(owner: Owner, file: StoredFile): Promise<string>;
}

interface FileHashesOptions {
  readonly db: Database;
  readonly hasher: ObjectHasher;
  readonly log: Log;
}

export function createFileHashes({ db, hasher, log }: FileHashesOptions): FileHashes {
  const running = new Map<string, Promise<string>>();

  async function compute(owner: Owner, file: StoredFile): Promise<string> {
    const { sha3, size } = await hasher.hash(file.key, file.version);
    if (size !== file.size) throw new StorageError('version_changed');
    await db.asUser(owner, (tx) =>
      tx
        .updateTable('upload_sessions')
        .set({ file_hash: sha3 })
        .where('id', '=', file.id)
        .execute(),
    );
    return sha3;
  }

  function wait(owner: Owner, file: StoredFile): Promise<string> {
    const known = running.get(file.id);
    if (known !== undefined) return known;
    const hash = compute(owner, file).finally(() => running.delete(file.id));
    running.set(file.id, hash);
    return hash;
  }

  return {
    wait,
    start(owner, file) {
      wait(owner, file).catch((error: unknown) => {
        log.warn({ err: error, sessionId: file.id }, 'hashing an upload failed');
      });
    },
  };
}
