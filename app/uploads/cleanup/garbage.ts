import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { Admission } from '../../restore/admission.ts';
import { markPrefix } from '../../restore/high-water-marks/mark-key.ts';
import { wasRestored } from '../../restore/restoration.ts';
import type { Outbox, OutboxPayloads } from '../../outbox/outbox.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { probePrefix } from '../../storage/store-watch.ts';
import { findFiles, findOpenUploads, lockSessionsOf } from './references.ts';
import { findWaitingRemovals } from '../../outbox/waiting.ts';

type StoredUpload = OutboxPayloads['multipart.abort'];
type StoredObject = OutboxPayloads['object.delete'];

const pageSize = 100;
const keptAfterRestoreDays = 30;
/** Matches the storage keys of upload sessions. */
const ofSession = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/[^/]+$/;
/** Matches the storage keys of the archives of evidence exports. */
const ofExport = /^exports\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/[^/]+$/;
/**
 * Hours after which a probe of the store, or the unfinished upload of a high-water mark, is
 * garbage: both are short, and are never resumed after an interruption.
 */
const shortGraceHours = 24;

interface GarbageOptions {
  readonly db: Database;
  readonly outbox: Outbox;
  readonly store: ObjectStore;
  readonly admission: Pick<Admission, 'assertAdmitted'>;
  readonly clock: Clock;
  readonly graceHours: number;
}

export type Garbage = ReturnType<typeof createGarbage>;

/**
 * Creates the service that finds and removes garbage: multipart uploads and objects in the object
 * store to which no database row refers. Examples are multipart uploads whose upload session was
 * never recorded, and objects that were assembled after their upload session had been closed.
 *
 * A row refers to each storage key from before an object is assembled under the key until the
 * object's removal is in the outbox, and keys are never reused. Therefore only a multipart upload
 * that is just being opened lacks a row without being garbage: the grace period covers this moment
 * and differences between clocks.
 *
 * After the database is restored from an older backup, objects that were stored after the backup
 * have no row either. Therefore the service finds no garbage for 30 days after an operator accepted
 * or reported a restore.
 */
export function createGarbage(options: GarbageOptions) {
  const { db, outbox, store, admission, clock, graceHours } = options;

  /** Objects with other keys, such as high-water marks, are never garbage. */
  const graceOfObject = (key: string) => {
    if (key.startsWith(probePrefix)) return shortGraceHours;
    return ofSession.test(key) || ofExport.test(key) ? graceHours : Infinity;
  };
  const graceOfUpload = (key: string) =>
    key.startsWith(markPrefix) ? shortGraceHours : graceOfObject(key);

  /**
   * Yields pages of the listed items that are older than the grace period for their storage key.
   */
  async function* pagesOf<T extends { readonly key: string; readonly createdAt: Date }>(
    listed: AsyncIterable<T>,
    graceOf: (key: string) => number,
  ): AsyncGenerator<T[]> {
    admission.assertAdmitted();
    if (await db.asService((tx) => wasRestored(tx, keptAfterRestoreDays))) return;
    const now = clock().getTime();
    let page: T[] = [];
    for await (const item of listed) {
      if (now - item.createdAt.getTime() < graceOf(item.key) * 3_600_000) continue;
      page.push(item);
      if (page.length < pageSize) continue;
      yield page;
      page = [];
    }
    yield page;
  }

  async function statObject(key: string): Promise<StoredObject[]> {
    const object = await store.stat(key);
    return object === undefined ? [] : [{ key, version: object.version }];
  }

  return {
    /**
     * Yields pages of unfinished multipart uploads that are older than the grace period and to
     * which no row refers. Throws StorageError, and as `Admission.assertAdmitted` does until this
     * start of the vault is admitted.
     */
    async *findUploads(): AsyncGenerator<readonly StoredUpload[]> {
      for await (const page of pagesOf(store.listUploads(), graceOfUpload)) {
        const uploads = page.map(({ key, uploadId }) => ({ key, uploadId }));
        yield await db.asService((tx) => withoutSession(tx, uploads));
      }
    },

    /**
     * Yields pages of stored objects that are older than the grace period and to which no row
     * refers. Throws as `findUploads` does.
     */
    async *findObjects(): AsyncGenerator<readonly StoredObject[]> {
      for await (const page of pagesOf(store.listObjects(), graceOfObject)) {
        const unused = await db.asService((tx) => withoutFile(tx, page));
        yield (await Promise.all(unused.map(({ key }) => statObject(key)))).flat();
      }
    },

    /**
     * Adds an abort to the outbox for each of the uploads that still has no row and no abort in the
     * outbox. Resolves with the number of added aborts.
     */
    async abortUploads(tx: Tx, uploads: readonly StoredUpload[]): Promise<number> {
      await lockSessionsOf(tx, keysOf(uploads));
      const garbage = await notYetRemoved(tx, 'multipart.abort', await withoutSession(tx, uploads));
      await outbox.addAll(tx, 'multipart.abort', garbage);
      return garbage.length;
    },

    /**
     * Adds a deletion to the outbox for each of the objects that still has no row and no deletion
     * in the outbox. Resolves with the number of added deletions.
     */
    async deleteObjects(tx: Tx, objects: readonly StoredObject[]): Promise<number> {
      await lockSessionsOf(tx, keysOf(objects));
      const garbage = await notYetRemoved(tx, 'object.delete', await withoutFile(tx, objects));
      await outbox.addAll(tx, 'object.delete', garbage);
      return garbage.length;
    },
  };
}

function keysOf(items: readonly { readonly key: string }[]): string[] {
  return items.map(({ key }) => key);
}

async function withoutSession(
  tx: Tx,
  uploads: readonly StoredUpload[],
): Promise<readonly StoredUpload[]> {
  const open = await findOpenUploads(tx, keysOf(uploads));
  return uploads.filter(({ key, uploadId }) => open.get(key) !== uploadId);
}

async function withoutFile<T extends { readonly key: string }>(
  tx: Tx,
  objects: readonly T[],
): Promise<readonly T[]> {
  const files = await findFiles(tx, keysOf(objects));
  return objects.filter(({ key }) => !files.has(key));
}

/** Returns the items whose removal is not in the outbox yet. */
async function notYetRemoved<T extends { readonly key: string }>(
  tx: Tx,
  kind: 'multipart.abort' | 'object.delete',
  items: readonly T[],
): Promise<readonly T[]> {
  const waiting = await findWaitingRemovals(tx, kind, keysOf(items));
  return items.filter(({ key }) => !waiting.has(key));
}
