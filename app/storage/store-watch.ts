import { randomBytes, randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Clock } from '../async/clock.ts';
import type { FreeSpace, ObjectStore } from './interface/object-store.ts';
import { StorageError } from './interface/storage-error.ts';

/**
 * The prefix of the keys of everything that a check writes. Garbage collection removes what an
 * interrupted check leaves under it.
 */
export const probePrefix = 'probes/';

/**
 * The bytes that a check writes: few, and after a refused write as many as were refused, up to the
 * usual size of a part. A store that is almost full takes a few bytes but no part.
 */
const probeBytes = { least: 1_024, most: 8 * 2 ** 20 };
/** Milliseconds for which the result of a written probe is kept. */
const keptMs = { success: 10_000, failure: 2_000 };

/** The knowledge of this process whether the object store works and takes data. */
export interface StoreWatch {
  /**
   * Throws StorageError unless the store can be read and takes data. Concurrent calls share one
   * check. Each check pings the store; it writes a probe only if the last one is 10 s old, or 2 s
   * if it failed.
   */
  check(): Promise<void>;
  /** When the store first refused data for lack of room; undefined since it took data again. */
  readonly fullSince: Date | undefined;
  /** As `ObjectStore.freeSpace`. */
  freeSpace(): Promise<FreeSpace | undefined>;
}

/** A store whose writes are watched, and what is known from them. */
interface WatchedStore {
  readonly store: ObjectStore;
  readonly watch: StoreWatch;
}

/**
 * Watches the writes of a store for refusals for lack of room, and adds checks that write. A probe
 * is a part of a multipart upload that is then aborted. So it takes the way of every file, replicas
 * do not meet, and a versioned bucket keeps no version of it.
 */
export function watchStore(unwatched: ObjectStore, clock: Clock): WatchedStore {
  let fullSince: Date | undefined;
  /** The most bytes that the store refused since it was full, up to `probeBytes.most`. */
  let refusedBytes = 0;
  let probed: { readonly failure: unknown; readonly untilMs: number } | undefined;
  let checking: Promise<void> | undefined;

  function noteRefusal(bytes: number): void {
    fullSince ??= clock();
    refusedBytes = Math.min(probeBytes.most, Math.max(refusedBytes, bytes));
    probed = undefined;
  }

  function noteSuccess(bytes: number): void {
    if (fullSince === undefined || bytes < refusedBytes) return;
    fullSince = undefined;
    refusedBytes = 0;
    probed = undefined;
  }

  /** Notes the outcome of a write that needs room for `needed` bytes and proves `proven`. */
  async function noting<T>(
    { needed, proven }: { readonly needed: number; readonly proven: number },
    write: Promise<T>,
  ): Promise<T> {
    try {
      const result = await write;
      noteSuccess(proven);
      return result;
    } catch (error) {
      if (error instanceof StorageError && error.code === 'storage_full') noteRefusal(needed);
      throw error;
    }
  }

  const store: ObjectStore = {
    ...unwatched,
    createMultipart: (key) => noting({ needed: 0, proven: 0 }, unwatched.createMultipart(key)),
    putPart: (part, body, options) =>
      noting({ needed: part.size, proven: part.size }, unwatched.putPart(part, body, options)),
    // Some servers copy all parts to complete an upload, and others copy nothing.
    completeMultipart: (...upload) =>
      noting({ needed: probeBytes.most, proven: 0 }, unwatched.completeMultipart(...upload)),
  };

  async function writeProbe(): Promise<void> {
    const key = `${probePrefix}${randomUUID()}`;
    const size = Math.max(probeBytes.least, refusedBytes);
    const uploadId = await store.createMultipart(key);
    try {
      // A file system that compresses has room for zeros when it has none for a file.
      const body = Readable.from([randomBytes(size)]);
      await store.putPart({ key, uploadId, partNumber: 1, size }, body);
    } catch (error) {
      await unwatched.abortMultipart(key, uploadId).catch(() => undefined);
      throw error;
    }
    await unwatched.abortMultipart(key, uploadId);
  }

  async function probe(): Promise<unknown> {
    try {
      await writeProbe();
      return undefined;
    } catch (error) {
      return error;
    }
  }

  async function run(): Promise<void> {
    await unwatched.ping();
    if (probed === undefined || performance.now() >= probed.untilMs) {
      const failure = await probe();
      const ms = failure === undefined ? keptMs.success : keptMs.failure;
      probed = { failure, untilMs: performance.now() + ms };
    }
    if (probed.failure !== undefined) throw probed.failure;
  }

  return {
    store,
    watch: {
      check() {
        checking ??= run().finally(() => {
          checking = undefined;
        });
        return checking;
      },
      get fullSince() {
        return fullSince;
      },
      freeSpace: () => unwatched.freeSpace(),
    },
  };
}
