import { createHash } from 'node:crypto';
import { open, readFile, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ResumeRecord } from '../resume.ts';
import type { ResumeStore } from '../resume.ts';
import { claimPath } from './claim.ts';
import { syncDirectory } from './sync-directory.ts';

const LINE_FEED = 0x0a;

/** Where in a directory the journal of this file is kept. */
export function resumePath(directory: string, sourcePath: string): string {
  const digest = createHash('sha256').update(resolve(sourcePath)).digest('hex');
  return join(directory, `${digest}.resume`);
}

/**
 * A journal with one record a line; a record counts once its line is synchronized. Dispose of it to
 * let others have it. Throws resume_in_use while another upload holds it.
 */
export async function openResumeFile(path: string): Promise<ResumeStore & AsyncDisposable> {
  const claim = await claimPath(path);
  let opening: Promise<FileHandle> | undefined;

  async function openDurably(): Promise<FileHandle> {
    const file = await open(path, 'a', 0o600);
    await syncDirectory(dirname(path));
    return file;
  }

  async function close(): Promise<void> {
    const file = await opening;
    opening = undefined;
    await file?.close();
  }

  return {
    async load() {
      const bytes = await readIfPresent(path);
      const end = bytes.lastIndexOf(LINE_FEED) + 1;
      if (end < bytes.length) await truncate(path, end);
      return parseRecords(bytes.toString('utf8', 0, end));
    },
    async append(record) {
      opening ??= openDurably();
      const file = await opening;
      await file.appendFile(`${JSON.stringify(record)}\n`);
      await file.datasync();
    },
    async clear() {
      await close();
      await rm(path, { force: true });
      await syncDirectory(dirname(path));
    },
    async [Symbol.asyncDispose]() {
      try {
        await close();
      } finally {
        await claim[Symbol.asyncDispose]();
      }
    },
  };
}

/** None if any line is damaged. */
function parseRecords(text: string): ResumeRecord[] {
  try {
    const lines = text.split('\n').slice(0, -1);
    return lines.map((line) => ResumeRecord.parse(JSON.parse(line)));
  } catch {
    return [];
  }
}

async function readIfPresent(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return Buffer.alloc(0);
    throw error;
  }
}

/** Drops a line that a crash cut off: what it recorded was never done. */
async function truncate(path: string, length: number): Promise<void> {
  await using file = await open(path, 'r+');
  await file.truncate(length);
  await file.sync();
}
