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

/**
 * Bytes by which the file must grow before it is rewritten as one line; it must also grow by twice
 * its size after the last rewrite.
 */
const leastGrowthBytes = 1_048_576;

/**
 * Opens the store of a device's synchronised objects in one file that only its owner may read. Each
 * save appends a line, which is durable once it is synchronised to disk; from time to time the file
 * is rewritten as one line. Dispose of the store to let another client open the file: operations in
 * progress finish, and later ones throw store_closed. Throws store_in_use while another client has
 * the file open. `load` throws store_damaged; `load` and `save` throw store_full.
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

  /** Runs `work` after all earlier operations. Throws store_closed if the store was disposed of. */
  async function inTurnUnlessClosed<T>(work: () => Promise<T>): Promise<T> {
    if (isClosed) throw new ClientError('store_closed');
    return inTurn(work).catch(rethrow);
  }

  async function close(): Promise<void> {
    const open = file;
    file = undefined;
    await open?.close();
  }

  /** Rewrites the file as one line. */
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
    // An earlier save that failed, for example on a full disk, may have left part of a line, which
    // is cut off here.
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
