import { createHash } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ResumeRecord, type ResumeStore } from '../uploads/resume.ts';
import { claimPath } from './claim.ts';
import { syncDirectory } from './sync-directory.ts';
import { readWholeLines } from './whole-lines.ts';

/** Returns the path, within `directory`, of the upload journal of a source file. */
export function resumePath(directory: string, sourcePath: string): string {
  const digest = createHash('sha256').update(resolve(sourcePath)).digest('hex');
  return join(directory, `${digest}.resume`);
}

/**
 * Opens an upload journal with one record per line. A record is durable once its line is
 * synchronised to disk. Dispose of the journal to let another upload open it. Throws resume_in_use
 * if another upload has the journal open.
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
      // A truncated last line belongs to a step that was never carried out; it is ignored.
      return parseRecords(await readWholeLines(path));
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

/** Returns the records, or none if any line is damaged. */
function parseRecords(lines: readonly string[]): ResumeRecord[] {
  try {
    return lines.map((line) => ResumeRecord.parse(JSON.parse(line)));
  } catch {
    return [];
  }
}
