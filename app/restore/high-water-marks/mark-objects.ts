import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { AuditProof } from '../../proof/proof.ts';
import { Proof } from '../../proof/schema.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';
import { markIdOf, markKey, markPrefix } from './mark-key.ts';

/** The maximum size in bytes of a high-water mark that is read; every audit proof is smaller. */
const maxBytes = 256 * 1024;

export type MarkObjects = ReturnType<typeof createMarkObjects>;

/**
 * Creates the service that reads and writes the high-water marks in the object store. Each mark is
 * an object that contains an audit proof. All methods reject with StorageError.
 */
export function createMarkObjects(store: ObjectStore) {
  return {
    /** Lists the ids of all stored high-water marks, newest first. */
    async list(): Promise<string[]> {
      const ids: string[] = [];
      for await (const { key } of store.listObjects(markPrefix)) {
        const id = markIdOf(key);
        if (id !== undefined) ids.push(id);
      }
      return ids.toSorted().toReversed();
    },

    /**
     * Reads a high-water mark's audit proof. Returns undefined if the object does not exist or does
     * not contain an audit proof.
     */
    async read(markId: string): Promise<AuditProof | undefined> {
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

    /** Writes a high-water mark, and resolves after the mark is durably stored. */
    async write(proof: AuditProof): Promise<void> {
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

    /** Removes a high-water mark. Succeeds if the mark does not exist. */
    remove: (markId: string): Promise<void> => store.delete(markKey(markId)),
  };
}

function parseProof(bytes: Buffer): AuditProof | undefined {
  try {
    return Proof.safeParse(JSON.parse(bytes.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
