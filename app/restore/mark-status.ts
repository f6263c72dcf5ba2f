import type { z } from 'zod';
import { inTime } from '../async/in-time.ts';
import type { Database } from '../db/database.ts';
import type { KeyRegistry } from '../signing-keys/registry.ts';
import { countSealed, readSealAgeAfter } from './high-water-marks/log-state.ts';
import type { Mark } from './high-water-marks/mark.ts';
import type { MarkObjects } from './high-water-marks/mark-objects.ts';
import { readNewestMark, type NewestMark } from './high-water-marks/mark-record.ts';
import { readMark } from './high-water-marks/newest-mark.ts';
import type { HighWaterMarks } from './schema.ts';

/** Milliseconds that a response waits for the object store, which may hang. */
const patienceMs = 2_000;

interface MarkStatusOptions {
  readonly db: Database;
  readonly registry: Pick<KeyRegistry, 'list'>;
  readonly objects: MarkObjects;
}

export type ReadMarkStatus = ReturnType<typeof createMarkStatus>;

/** Sealed entries that no mark covers. */
interface Unmarked {
  readonly count: number;
  /** Seconds since the first entry after the mark was sealed; undefined without one. */
  readonly ageSeconds: number | undefined;
}

/**
 * Creates the function that tells where the newest high-water mark stands. It resolves also while
 * the object store is away. Throws database_unavailable.
 */
export function createMarkStatus({ db, registry, objects }: MarkStatusOptions) {
  /** Reads a mark from the object store. `unreadable` if the store does not answer. */
  async function find(id: string): Promise<Mark | 'missing' | 'unreadable'> {
    const keys = new Map((await registry.list()).map((key) => [key.keyId, key]));
    const reading = inTime(patienceMs, readMark(objects, keys, id));
    return reading.then(
      (mark) => mark ?? 'missing',
      () => 'unreadable',
    );
  }

  async function readUnmarked(sealed: number, mark: Mark | undefined): Promise<Unmarked> {
    const count = sealed - (mark?.sealed ?? 0);
    if (count === 0) return { count, ageSeconds: undefined };
    const after = mark?.newestEntryId ?? null;
    return { count, ageSeconds: await db.asService((tx) => readSealAgeAfter(tx, after)) };
  }

  return async (): Promise<z.input<typeof HighWaterMarks>> => {
    // The mark is read first, so that the log has at least the entries that it covers.
    const { newest, sealed } = await db.asService(async (tx) => ({
      newest: await readNewestMark(tx),
      sealed: await countSealed(tx),
    }));
    if (newest === undefined) {
      const unmarked = await readUnmarked(sealed, undefined);
      return { sealedEntries: sealed, ...describeUnmarked(unmarked), newest: null };
    }
    const mark = await find(newest.id);
    const unmarked = typeof mark === 'string' ? undefined : await readUnmarked(sealed, mark);
    return {
      sealedEntries: sealed,
      ...describeUnmarked(unmarked),
      newest: describeNewest(newest, mark),
    };
  };
}

function describeUnmarked(unmarked: Unmarked | undefined) {
  const { count, ageSeconds } = unmarked ?? {};
  return {
    unmarkedEntries: count ?? null,
    unmarkedAgeSeconds: ageSeconds === undefined ? null : Math.floor(ageSeconds),
  };
}

function describeNewest(
  { id, writtenAt, ageSeconds }: NewestMark,
  mark: Mark | 'missing' | 'unreadable',
) {
  const isKnown = typeof mark !== 'string';
  return {
    id,
    writtenAt,
    ageSeconds: Math.floor(ageSeconds),
    state: isKnown ? ('valid' as const) : mark,
    sealedEntries: isKnown ? mark.sealed : null,
    newestEntryId: isKnown ? mark.newestEntryId : null,
  };
}
