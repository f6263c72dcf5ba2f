import { createThreadPool } from '../async/thread-pool.ts';
import type { StoreConfig } from './create-store.ts';
import { StorageError } from './interface/storage-error.ts';
import type { HashReply, HashRequest, ObjectHash } from './object-hash-worker.ts';

export type ObjectHasher = ReturnType<typeof createObjectHasher>;

/** Small heaps, so that read chunks are collected soon: a large file must not cost more memory. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

/**
 * Creates the service that hashes stored objects in threads. Each thread opens the store itself, so
 * that no bytes are sent between threads.
 */
export function createObjectHasher(
  storeConfig: StoreConfig,
  { concurrency }: { readonly concurrency: number },
) {
  const threads = createThreadPool<HashRequest, HashReply>({
    program: new URL('./object-hash-worker.ts', import.meta.url),
    count: concurrency,
    workerData: storeConfig,
    resourceLimits,
  });

  return {
    /** Maximum number of objects that are hashed at a time. */
    concurrency,
    /**
     * Reads a stored object once and hashes it off the event loop. Waits while `concurrency` other
     * objects are being hashed. Reads no more than `bytesPerSecond`, if it is given. Throws the
     * errors of ObjectStore.get, and storage_unavailable if the thread dies or the hasher is
     * closed.
     */
    async hash(
      key: string,
      version: string,
      { bytesPerSecond }: { readonly bytesPerSecond?: number | undefined } = {},
    ): Promise<ObjectHash> {
      const request = { key, version, bytesPerSecond };
      const reply = await threads.run(request).catch((cause: unknown) => {
        throw new StorageError('storage_unavailable', { cause });
      });
      if ('code' in reply) throw new StorageError(reply.code, { cause: reply.reason });
      return reply;
    },

    close: () => threads.close(),
  };
}
