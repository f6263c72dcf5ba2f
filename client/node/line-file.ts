import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createTurns } from '../async/turns.ts';
import { ClientError } from '../errors/client-error.ts';
import { writeFileAtomically } from './atomic-file.ts';
import { claimPath } from './claim.ts';
import { syncDirectory } from './sync-directory.ts';
import { readWholeLines } from './whole-lines.ts';

/** The operations on the lines of a file, within one turn. */
export interface Lines {
  /** Returns all lines. If a crash has cut off the last one, that line is left out. */
  read(): Promise<string[]>;
  /** Appends a line, which is durable then. */
  append(line: string): Promise<void>;
  /** Rewrites the file as one line, atomically and durably. */
  replace(line: string): Promise<void>;
  /** The bytes that were appended since the file was rewritten or opened. */
  grownBytes(): number;
}

export type LineFile = AsyncDisposable & {
  /**
   * Runs `work` after all earlier calls. Throws store_closed if the file was disposed of, and
   * store_full if there is no space.
   */
  run<T>(work: (lines: Lines) => Promise<T>): Promise<T>;
};

/**
 * Opens a file of lines that only its owner may read. Dispose of it to let another client open it:
 * operations in progress finish. Throws store_in_use while another client has the file open.
 */
export async function openLineFile(path: string): Promise<LineFile> {
  const claim = await claimPath(path, 'store_in_use');
  const inTurn = createTurns();
  let file: FileHandle | undefined;
  let bytes = 0;
  let replacedBytes = 0;
  let isTorn = false;
  let isClosed = false;

  async function close(): Promise<void> {
    const open = file;
    file = undefined;
    await open?.close();
  }

  const lines: Lines = {
    read: () => readWholeLines(path),

    async append(line) {
      const encoded = Buffer.from(`${line}\n`);
      if (file === undefined) {
        const opened = await open(path, 'a', 0o600);
        ({ size: bytes } = await opened.stat());
        isTorn = false;
        file = opened;
        await syncDirectory(dirname(path));
      }
      // An earlier call that failed, for example on a full disk, may have left part of a line. It
      // is cut off here.
      if (isTorn) await file.truncate(bytes);
      isTorn = true;
      await file.appendFile(encoded);
      await file.datasync();
      isTorn = false;
      bytes += encoded.length;
    },

    async replace(line) {
      const encoded = Buffer.from(`${line}\n`);
      await close();
      await writeFileAtomically(path, asPieces(encoded));
      bytes = encoded.length;
      replacedBytes = encoded.length;
    },

    grownBytes: () => bytes - replacedBytes,
  };

  return {
    async run(work) {
      if (isClosed) throw new ClientError('store_closed');
      return inTurn(() => work(lines)).catch(rethrow);
    },

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

async function* asPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
