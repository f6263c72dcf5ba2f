import { ClientError } from '../errors/client-error.ts';
import { createSavedState } from '../sync/stores/in-memory-store.ts';
import { SavedChanges, type SavedState, type SyncStore } from '../sync/stores/store.ts';
import { openLineFile, type Lines } from './line-file.ts';

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
  const file = await openLineFile(path);
  const state = createSavedState();
  let compactLength = 0;

  /** Rewrites the file as one line. */
  async function compact(lines: Lines): Promise<void> {
    const line = toLine(state.present());
    await lines.replace(line);
    compactLength = line.length;
  }

  return {
    load: () =>
      file.run(async (lines) => {
        for (const line of await lines.read()) state.apply(parseChanges(line));
        await compact(lines);
        return state.present();
      }),
    save: (changes) =>
      file.run(async (lines) => {
        const limit = Math.max(leastGrowthBytes, 2 * compactLength);
        if (lines.grownBytes() > limit) await compact(lines);
        await lines.append(toLine(changes));
        state.apply(changes);
      }),
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  };
}

function toLine(changes: SavedChanges | SavedState): string {
  const forgotten = 'forgotten' in changes ? changes.forgotten : [];
  return JSON.stringify({ ...changes, forgotten });
}

function parseChanges(line: string): SavedChanges {
  try {
    return SavedChanges.parse(JSON.parse(line));
  } catch {
    throw new ClientError('store_damaged');
  }
}
