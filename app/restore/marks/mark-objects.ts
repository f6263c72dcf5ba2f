import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { AuditProof } from '../../proof/proof.ts';
import { Proof } from '../../proof/schema.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';
import { markIdOf, markKey, markPrefix } from './mark-key.ts';

/** More than the proof of the largest entry. */
const maxBytes = 256 * 1024;

/** The marks in the object store, each an object with a proof. All methods throw StorageError. */
export interface MarkObjects {
  /** Every id that is there, the newest first. */
  list(): Promise<string[]>;
  /** Undefined where there is none, or something that is no proof. */
  read(markId: string): Promise<AuditProof | undefined>;
  /** Resolves only once it is durable. */
  write(proof: AuditProof): Promise<void>;
  /** A missing one is no error. */
  remove(markId: string): Promise<void>;
}

export function createMarkObjects(store: ObjectStore): MarkObjects {
  return {
    async list() {
      const ids = [];
      for await (const { key } of store.listObjects(markPrefix)) {
        const id = markIdOf(key);
        if (id !== undefined) ids.push(id);
      }
      return ids.toSorted().toReversed();
    },

    async read(markId) {
      try {
        const { size, body } = await store.get(markKey(markId));
        if (size > maxBytes) {
          body.destroy();
          return undefined;
        }
        return parseProof(await buffer(body));
      } catch (error) {
        if (error instanceof StorageError && error.code === 'object_not_found') return undefined;
        throw error;
      }
    },

    async write(proof) {
      const key = markKey(proof.id);
      const bytes = Buffer.from(JSON.stringify(proof));
      const uploadId = await store.createMultipart(key);
      try {
        const part = { key, uploadId, partNumber: 1, size: bytes.length };
        const { etag } = await store.putPart(part, Readable.from([bytes]));
        await store.completeMultipart(key, uploadId, [{ partNumber: 1, etag }]);
      } catch (error) {
        await store.abortMultipart(key, uploadId).catch(() => undefined);
        throw error;
      }
    },

    remove: (markId) => store.delete(markKey(markId)),
  };
}

function parseProof(bytes: Buffer): AuditProof | undefined {
  try {
    return Proof.safeParse(JSON.parse(bytes.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
