import { createHash } from 'node:crypto';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { createObjectStore, type StoreConfig } from './create-store.ts';
import type { HashReply, HashRequest, ObjectHash } from './object-hash.ts';
import { StorageError } from './interface/storage-error.ts';

const store = await createObjectStore(workerData as StoreConfig, { mayCreate: async () => false });

async function hashObject({ key, version }: HashRequest): Promise<ObjectHash> {
  const hash = createHash('sha3-256');
  let size = 0;
  const { body } = await store.get(key, { ifVersion: version });
  for await (const chunk of body as AsyncIterable<Buffer>) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { sha3: hash.digest('hex'), size };
}

/** Converts an error to its code and text: its cause may hold values that cannot be cloned. */
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
