import { Worker } from 'node:worker_threads';
import type { StoreConfig } from './create-store.ts';
import { StorageError } from './storage-error.ts';
import type { StorageErrorCode } from './storage-error.ts';

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

interface Job extends HashRequest {
  resolve(hash: ObjectHash): void;
  reject(error: StorageError): void;
}

/** Starts threads as they are needed. Each opens the store for itself, so that bytes never cross threads. */
export function createObjectHasher(
  storeConfig: StoreConfig,
  { concurrency }: { concurrency: number },
): ObjectHasher {
  const waiting: Job[] = [];
  const idle: Worker[] = [];
  const busy = new Map<Worker, Job>();
  let closed = false;

  function settle(worker: Worker, reply: HashReply): void {
    const job = busy.get(worker);
    busy.delete(worker);
    idle.push(worker);
    if ('code' in reply) job?.reject(new StorageError(reply.code, { cause: reply.reason }));
    else job?.resolve(reply);
    startNext();
  }

  function discard(worker: Worker, cause: unknown): void {
    const job = busy.get(worker);
    busy.delete(worker);
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
    job?.reject(new StorageError('storage_unavailable', { cause }));
    startNext();
  }

  function startWorker(): Worker {
    const url = new URL('./object-hash-worker.ts', import.meta.url);
    const worker = new Worker(url, { workerData: storeConfig, resourceLimits });
    worker.on('message', (reply: HashReply) => settle(worker, reply));
    worker.on('error', (error) => discard(worker, error));
    worker.on('exit', (code) => discard(worker, new Error(`hash worker exited with ${code}`)));
    return worker;
  }

  function startNext(): void {
    if (closed) return;
    while (waiting.length > 0 && busy.size < concurrency) {
      const job = waiting.shift() as Job;
      const worker = idle.pop() ?? startWorker();
      busy.set(worker, job);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      worker.postMessage({ key: job.key, version: job.version } satisfies HashRequest);
    }
  }

  return {
    hash(key, version) {
      return new Promise((resolve, reject) => {
        if (closed) {
          reject(new StorageError('storage_unavailable'));
          return;
        }
        waiting.push({ key, version, resolve, reject });
        startNext();
      });
    },

    async close() {
      closed = true;
      for (const job of waiting.splice(0)) job.reject(new StorageError('storage_unavailable'));
      await Promise.all([...idle, ...busy.keys()].map((worker) => worker.terminate()));
    },
  };
}
