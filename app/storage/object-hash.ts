import { createThreadPool } from '../async/thread-pool.ts';
import type { StoreConfig } from './create-store.ts';
import { StorageError, type StorageErrorCode } from './interface/storage-error.ts';

/** SHA3-256 as lowercase hex; `size` in bytes. */
export interface ObjectHash {
  sha3: string;
  size: number;
}

export interface HashRequest {
  key: string;
  version: string;
}

export type HashReply = ObjectHash | { code: StorageErrorCode; reason: string };

export interface ObjectHasher {
  /**
   * Reads the stored object once and hashes it off the event loop. Waits while `concurrency` others are hashed.
   * Throws what ObjectStore.get throws, and storage_unavailable when the thread dies or the hasher is closed.
   */
  hash(key: string, version: string): Promise<ObjectHash>;

  close(): Promise<void>;
}

/** Small, so that what has been read is collected soon: a large file must not cost more memory. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

/** Each thread opens the store for itself, so that bytes never cross threads. */
export function createObjectHasher(
  storeConfig: StoreConfig,
  { concurrency }: { concurrency: number },
): ObjectHasher {
  const threads = createThreadPool<HashRequest, HashReply>({
    program: new URL('./object-hash-worker.ts', import.meta.url),
    count: concurrency,
    workerData: storeConfig,
    resourceLimits,
  });

  return {
    async hash(key, version) {
      const reply = await threads.run({ key, version }).catch((cause: unknown) => {
        throw new StorageError('storage_unavailable', { cause });
      });
      if ('code' in reply) throw new StorageError(reply.code, { cause: reply.reason });
      return reply;
    },

    close: () => threads.close(),
  };
}
