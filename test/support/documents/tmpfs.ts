import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, open, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';

const run = promisify(execFile);

/** Whether this process has the right to mount file systems. */
export const mayMount = process.platform === 'linux' && process.getuid?.() === 0;

/**
 * Mounts an empty file system on a directory. `size` has the format of mount(8), such as 8m, and
 * may be followed by a comma and further options.
 */
export async function mountTmpfs(directory: string, size: string): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory]);
}

export async function unmount(directory: string): Promise<void> {
  await run('umount', ['--lazy', directory]);
}

/** A small file system of its own, which a test fills. */
export interface SmallVolume {
  readonly directory: string;
  /** Uses up the space, the inodes or the right to write. Resolves with the way back. */
  exhaust(what: Exhaustion): Promise<() => Promise<void>>;
}

export type Exhaustion = 'space' | 'inodes' | 'writing';

/** Mounts a file system of 24 MiB and 400 inodes until the test ends. */
export async function mountSmallVolume(
  t: Pick<ExecutionContext, 'teardown'>,
): Promise<SmallVolume> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-volume-'));
  t.teardown(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
  await mountTmpfs(directory, '24m,nr_inodes=400');
  t.teardown(() => unmount(directory));
  const fillers = {
    space: () => fillBytes(directory),
    inodes: () => fillInodes(directory),
    writing: () => remount(directory, 'ro'),
  };
  return {
    directory,
    async exhaust(what) {
      const before = await freeBytes(directory);
      await fillers[what]();
      return async () => {
        if (what === 'writing') await remount(directory, 'rw');
        else await removeFiller(directory);
        if (what === 'space') await untilFree(directory, 0.95 * before);
      };
    },
  };
}

const fillerOf = (directory: string) => path.join(directory, 'filler');

/** Fills the file system of a directory with one file. */
export async function fillBytes(directory: string): Promise<void> {
  await mkdir(fillerOf(directory));
  const file = await open(path.join(fillerOf(directory), 'bytes'), 'w');
  try {
    for (const size of [2 ** 20, 4_096]) await untilFull(() => file.write(Buffer.alloc(size)));
  } finally {
    await file.close();
  }
}

/** Fills the file system of a directory with empty files. */
export async function fillInodes(directory: string): Promise<void> {
  await mkdir(fillerOf(directory));
  let number = 0;
  await untilFull(() => writeFile(path.join(fillerOf(directory), String((number += 1))), ''));
}

/** Removes all that fills the file system of a directory. */
export async function removeFiller(directory: string): Promise<void> {
  await rm(fillerOf(directory), { recursive: true });
}

async function freeBytes(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/**
 * Resolves once a file system has at least `bytes` free. A process that another thread of this one
 * starts has every file open until it loads its program, and so keeps the room of a removed one.
 */
export async function untilFree(directory: string, bytes: number): Promise<void> {
  const isFree = async () => (await freeBytes(directory)) >= bytes;
  await until(isFree, { what: `${bytes} bytes to be free`, timeoutMs: 60_000 });
}

async function untilFull(write: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await write();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}

/**
 * Makes a volume read-only, or writable again. Tries again while a file is open for writing, such
 * as that of a check of the store.
 */
export async function remount(directory: string, mode: 'ro' | 'rw'): Promise<void> {
  const isDone = async () => {
    try {
      await run('mount', ['-o', `remount,${mode}`, directory]);
      return true;
    } catch (error) {
      if (/busy/.test((error as Error).message)) return false;
      throw error;
    }
  };
  await until(isDone, { what: `the volume to be ${mode}`, timeoutMs: 60_000 });
}
