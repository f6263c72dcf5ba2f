import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { Admission } from '../../restore/admission.ts';
import { markPrefix } from '../../restore/high-water-marks/mark-key.ts';
import { wasRestored } from '../../restore/restoration.ts';
import type { Outbox, OutboxPayloads } from '../../outbox/outbox.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { findFiles, findOpenUploads, lockSessionsOf } from './references.ts';
import { findWaitingRemovals } from '../../outbox/waiting.ts';

type StoredUpload = OutboxPayloads['multipart.abort'];
type StoredObject = OutboxPayloads['object.delete'];

const pageSize = 100;
const keptAfterRestoreDays = 30;
/** Keys of upload sessions. Other objects in the store, such as marks, must never be removed. */
const ofSession = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/[^/]+$/;
/** The grace period of uploads of marks: they are short, and interrupted ones are not resumed. */
const markGraceHours = 24;

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
 * Creates the service that finds and removes garbage: what the object store holds and no row refers
 * to. Examples are uploads whose opening was never recorded, and objects of a completion that came
 * too late.
 *
 * A key has a row from before anything is completed under it until its removal is in the outbox,
 * and is never used again. So only an upload that is just being opened has no row yet: the grace
 * period covers that moment, and clocks that differ.
 *
 * After a restore of an older backup of the database, objects that were stored since have no row
 * either. Nothing is found for 30 days after such a restore was accepted.
 */
export function createGarbage(options: GarbageOptions) {
  const { db, outbox, store, admission, clock, graceHours } = options;

  const graceOfObject = (key: string) => (ofSession.test(key) ? graceHours : Infinity);
  const graceOfUpload = (key: string) =>
    key.startsWith(markPrefix) ? markGraceHours : graceOfObject(key);

  /** Yields pages of the items that are older than the grace period of their key. */
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
     * Yields pages of open uploads that are older than the grace period and that no row refers to.
     * Throws StorageError, and the error of an unavailable backend until this start is admitted.
     */
    async *findUploads(): AsyncGenerator<readonly StoredUpload[]> {
      for await (const page of pagesOf(store.listUploads(), graceOfUpload)) {
        const uploads = page.map(({ key, uploadId }) => ({ key, uploadId }));
        yield await db.asService((tx) => withoutSession(tx, uploads));
      }
    },

    /** Yields pages of objects, under the conditions and with the errors of `findUploads`. */
    async *findObjects(): AsyncGenerator<readonly StoredObject[]> {
      for await (const page of pagesOf(store.listObjects(), graceOfObject)) {
        const unused = await db.asService((tx) => withoutFile(tx, page));
        yield (await Promise.all(unused.map(({ key }) => statObject(key)))).flat();
      }
    },

    /**
     * Adds to the outbox the abort of those uploads that still have no row. Resolves with their
     * number.
     */
    async abortUploads(tx: Tx, uploads: readonly StoredUpload[]): Promise<number> {
      await lockSessionsOf(tx, keysOf(uploads));
      const garbage = await notYetRemoved(tx, 'multipart.abort', await withoutSession(tx, uploads));
      await outbox.addAll(tx, 'multipart.abort', garbage);
      return garbage.length;
    },

    /**
     * Adds to the outbox the deletion of those objects that still have no row. Resolves with their
     * number.
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
