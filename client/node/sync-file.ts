import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ClientError } from '../errors/client-error.ts';
import { createSavedState } from '../sync/stores/memory-store.ts';
import { SavedChanges, type SavedState, type SyncStore } from '../sync/stores/store.ts';
import { createTurns } from '../sync/stores/turns.ts';
import { writeFileAtomically } from './atomic-file.ts';
import { claimPath } from './claim.ts';
import { syncDirectory } from './sync-directory.ts';
import { readWholeLines } from './whole-lines.ts';

/** A file is written anew when it has grown by so much, and by twice what it held. */
const leastGrowthBytes = 1_048_576;

/**
 * What a device keeps of synchronised objects, in one file that only its owner may read: one line a
 * save, which counts once it is synchronized, and from time to time all in one. Dispose of it to let
 * another client have it: what has begun still ends, and all that comes later throws store_closed. Throws
 * store_in_use while another does; `load` throws store_damaged, and both store_full.
 */
export async function openSyncFile(path: string): Promise<SyncStore & AsyncDisposable> {
  const claim = await claimPath(path, 'store_in_use');
  const state = createSavedState();
  let file: FileHandle | undefined;
  let compactBytes = 0;
  let bytes = 0;
  let isTorn = false;
  let isClosed = false;
  const inTurn = createTurns();

  /** None once the claim is given up. */
  async function inTurnUnlessClosed<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) throw new ClientError('store_closed');
    return inTurn(work).catch(rethrow);
  }

  async function close(): Promise<void> {
    const open = file;
    file = undefined;
    await open?.close();
  }

  /** Everything in one line, in place of all there is. */
  async function compact(): Promise<void> {
    const line = toLine(state.present());
    await close();
    await writeFileAtomically(path, asPieces(line));
    compactBytes = line.length;
  }

  async function append(line: Buffer): Promise<void> {
    if (file === undefined) {
      const opened = await open(path, 'a', 0o600);
      ({ size: bytes } = await opened.stat());
      isTorn = false;
      file = opened;
      await syncDirectory(dirname(path));
    }
    // What a failed save has left, as of a full disk, must not stand before the next one.
    if (isTorn) await file.truncate(bytes);
    isTorn = true;
    await file.appendFile(line);
    await file.datasync();
    isTorn = false;
    bytes += line.length;
  }

  return {
    load: () =>
      inTurnUnlessClosed(async () => {
        for (const line of await readWholeLines(path)) state.apply(parseChanges(line));
        await compact();
        return state.present();
      }),
    save: (changes) =>
      inTurnUnlessClosed(async () => {
        const grown = bytes - compactBytes;
        if (grown > Math.max(leastGrowthBytes, 2 * compactBytes)) await compact();
        await append(toLine(changes));
        state.apply(changes);
      }),
    async [Symbol.asyncDispose]() {
      isClosed = true;
      try {
        await inTurn(close);
      } finally {
        await claim[Symbol.asyncDispose]();
      }
    },
  };
}

function rethrow(cause: unknown): never {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOSPC' || code === 'EDQUOT') throw new ClientError('store_full', { cause });
  throw cause;
}

function toLine(changes: SavedChanges | SavedState): Buffer {
  const forgotten = 'forgotten' in changes ? changes.forgotten : [];
  return Buffer.from(`${JSON.stringify({ ...changes, forgotten })}\n`);
}

function parseChanges(line: string): SavedChanges {
  try {
    return SavedChanges.parse(JSON.parse(line));
  } catch {
    throw new ClientError('store_damaged');
  }
}

async function* asPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
