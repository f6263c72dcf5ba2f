import { stat } from 'node:fs/promises';
import type { ByteSource } from '../../files/byte-source.ts';
import { openFileSource } from '../../node/file-source.ts';
import { DemoError } from '../terminal/demo-error.ts';

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'cannot be read: permission denied',
  ENOENT: 'does not exist',
};

/** Opens the file to store. Throws DemoError if it is missing, unreadable or not a regular file. */
export async function openEvidence(path: string): Promise<ByteSource & AsyncDisposable> {
  try {
    // Opening a pipe would block until something writes to it.
    if (!(await stat(path)).isFile()) throw new DemoError(`${path} is no regular file`);
    return await openFileSource(path);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error;
    throw new DemoError(`${path} ${reasons[String(error.code)] ?? 'cannot be read'}`, {
      cause: error,
    });
  }
}
