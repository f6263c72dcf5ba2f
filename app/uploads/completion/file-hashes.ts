import { createFairSlots } from '../../async/fair-slots.ts';
import type { Database, Owner } from '../../db/database.ts';
import type { ObjectHasher } from '../../storage/object-hash.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';
import type { Log } from '../../telemetry/log.ts';

/** The stored object of a completed upload. */
export interface StoredFile {
  /** The id of the upload session. */
  readonly id: string;
  readonly key: string;
  readonly version: string;
  /** Size in bytes. */
  readonly size: number;
}

interface FileHashesOptions {
  readonly db: Database;
  readonly hasher: ObjectHasher;
  readonly log: Log;
}

/** Number of a user's files that are hashed at a time, so that no user occupies every thread. */
export const hashesPerUser = 1;

export type FileHashes = ReturnType<typeof createFileHashes>;

/**
 * Creates the service that computes the SHA3-256 of completed uploads and stores it in their upload
 * sessions. Concurrent calls for one upload in one process share one computation. Users take turns.
 */
export function createFileHashes({ db, hasher, log }: FileHashesOptions) {
  const running = new Map<string, Promise<string>>();
  const slots = createFairSlots({ perKey: hashesPerUser, inAll: hasher.concurrency });

  async function compute(owner: Owner, file: StoredFile): Promise<string> {
    const { sha3, size } = await slots.take(owner.userId, () =>
      hasher.hash(file.key, file.version),
    );
    if (size !== file.size) throw new StorageError('version_changed');
    await db.asUser(owner, (tx) =>
      tx
        .updateTable('upload_sessions')
        .set({ file_hash: sha3 })
        .where('id', '=', file.id)
        .where('user_id', '=', owner.userId)
        .where('tenant_id', '=', owner.tenantId)
        .execute(),
    );
    return sha3;
  }

  /**
   * Computes the hash of a file, or waits for a running computation of this hash. Resolves with 64
   * hex digits. Rejects with StorageError.
   */
  function wait(owner: Owner, file: StoredFile): Promise<string> {
    const known = running.get(file.id);
    if (known !== undefined) return known;
    const hash = compute(owner, file).finally(() => running.delete(file.id));
    running.set(file.id, hash);
    return hash;
  }

  return {
    wait,
    /**
     * Starts to compute a hash in the background. A failure is logged, and the next `wait` retries.
     */
    start(owner: Owner, file: StoredFile): void {
      wait(owner, file).catch((error: unknown) => {
        log.warn({ err: error, sessionId: file.id }, 'hashing an upload failed');
      });
    },
  };
}
