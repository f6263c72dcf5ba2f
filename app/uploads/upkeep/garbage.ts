import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { Admission } from '../../restore/admission.ts';
import { markPrefix } from '../../restore/marks/mark-key.ts';
import { wasRestored } from '../../restore/restoration.ts';
import type { Outbox, OutboxPayloads } from '../../outbox/outbox.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { findFiles, findOpenUploads, findPromised, lockSessionsOf } from './references.ts';

type StoredUpload = OutboxPayloads['multipart.abort'];
type StoredObject = OutboxPayloads['object.delete'];

/**
 * What the object store keeps and no row refers to: uploads whose opening was never recorded, what a
 * completion made that came too late.
 *
 * A key has a row from before anything is completed under it until its removal is promised, and is
 * never used again. So only an upload that is just being opened has no row yet: the grace period is
 * for that moment, and for clocks that differ.
 *
 * Where the database is an older backup, what was stored after it has no row either. Nothing is found
 * for 30 days after that was accepted.
 */
export interface Garbage {
  /**
   * Open uploads older than the grace period that no row refers to, by pages. Rejects with
   * StorageError, and until the start is admitted with what is away.
   */
  findUploads(): AsyncIterable<readonly StoredUpload[]>;
  /** The same of objects. */
  findObjects(): AsyncIterable<readonly StoredObject[]>;
  /** Promises the removal of those that no row refers to still. Answers how many. */
  abortUploads(tx: Tx, uploads: readonly StoredUpload[]): Promise<number>;
  /** The same of objects. */
  deleteObjects(tx: Tx, objects: readonly StoredObject[]): Promise<number>;
}

const pageSize = 100;
const keptAfterRestoreDays = 30;
/** As sessions have them. Whatever else is in the store, such as marks, is not to be removed. */
const ofSession = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\/[^/]+$/;
/** An upload of a mark takes no time; one that was cut off is gone on with by nobody. */
const markGraceHours = 24;

interface GarbageOptions {
  readonly db: Database;
  readonly outbox: Outbox;
  readonly store: ObjectStore;
  readonly admission: Pick<Admission, 'assertAdmitted'>;
  readonly clock: Clock;
  readonly graceHours: number;
}

export function createGarbage(options: GarbageOptions): Garbage {
  const { db, outbox, store, admission, clock, graceHours } = options;

  const graceOfObject = (key: string) => (ofSession.test(key) ? graceHours : Infinity);
  const graceOfUpload = (key: string) =>
    key.startsWith(markPrefix) ? markGraceHours : graceOfObject(key);

  /** What is old enough. */
  async function* pagesOf<T extends { key: string; createdAt: Date }>(
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
    async *findUploads() {
      for await (const page of pagesOf(store.listUploads(), graceOfUpload)) {
        const uploads = page.map(({ key, uploadId }) => ({ key, uploadId }));
        yield await db.asService((tx) => withoutSession(tx, uploads));
      }
    },

    async *findObjects() {
      for await (const page of pagesOf(store.listObjects(), graceOfObject)) {
        const unused = await db.asService((tx) => withoutFile(tx, page));
        yield (await Promise.all(unused.map(({ key }) => statObject(key)))).flat();
      }
    },

    async abortUploads(tx, uploads) {
      await lockSessionsOf(tx, keysOf(uploads));
      const garbage = await withoutPromise(
        tx,
        'multipart.abort',
        await withoutSession(tx, uploads),
      );
      await outbox.addAll(tx, 'multipart.abort', garbage);
      return garbage.length;
    },

    async deleteObjects(tx, objects) {
      await lockSessionsOf(tx, keysOf(objects));
      const garbage = await withoutPromise(tx, 'object.delete', await withoutFile(tx, objects));
      await outbox.addAll(tx, 'object.delete', garbage);
      return garbage.length;
    },
  };
}

function keysOf(items: readonly { key: string }[]): string[] {
  return items.map(({ key }) => key);
}

async function withoutSession(
  tx: Tx,
  uploads: readonly StoredUpload[],
): Promise<readonly StoredUpload[]> {
  const open = await findOpenUploads(tx, keysOf(uploads));
  return uploads.filter(({ key, uploadId }) => open.get(key) !== uploadId);
}

async function withoutFile<T extends { key: string }>(
  tx: Tx,
  objects: readonly T[],
): Promise<readonly T[]> {
  const files = await findFiles(tx, keysOf(objects));
  return objects.filter(({ key }) => !files.has(key));
}

/** Those of which nobody has promised it before. */
async function withoutPromise<T extends { key: string }>(
  tx: Tx,
  kind: 'multipart.abort' | 'object.delete',
  items: readonly T[],
): Promise<readonly T[]> {
  const promised = await findPromised(tx, kind, keysOf(items));
  return items.filter(({ key }) => !promised.has(key));
}
