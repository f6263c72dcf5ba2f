import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { createObjectStore, type StoreConfig } from './create-store.ts';
import { StorageError, type StorageErrorCode } from './interface/storage-error.ts';

/** SHA3-256 in lowercase hex; `size` is in bytes. */
export interface ObjectHash {
  readonly sha3: string;
  readonly size: number;
}

export interface HashRequest {
  readonly key: string;
  readonly version: string;
  /** The most bytes to read in a second; undefined for no limit. */
  readonly bytesPerSecond: number | undefined;
}

export type HashReply = ObjectHash | { readonly code: StorageErrorCode; readonly reason: string };

const store = await createObjectStore(workerData as StoreConfig, { mayCreate: async () => false });

async function hashObject({
  key,
  version,
  bytesPerSecond = Infinity,
}: HashRequest): Promise<ObjectHash> {
  const hash = createHash('sha3-256');
  let size = 0;
  const startedAt = performance.now();
  const { body } = await store.get(key, { ifVersion: version });
  for await (const chunk of body as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.length;
    const earlyMs = (1_000 * size) / bytesPerSecond - (performance.now() - startedAt);
    if (earlyMs >= 1) await sleep(earlyMs);
  }
  return { sha3: hash.digest('hex'), size };
}

/**
 * Converts an error to its code and text, since its cause may contain values that cannot be sent
 * between threads.
 */
function toReply(error: unknown): HashReply {
  const { code, cause } =
    error instanceof StorageError
      ? error
      : new StorageError('storage_unavailable', { cause: error });
  return { code, reason: cause instanceof Error ? cause.message : code };
}

const port = parentPort as MessagePort;
port.on('message', (request: HashRequest) => {
  void hashObject(request)
    .catch(toReply)
    .then((reply: HashReply) => port.postMessage(reply));
});
