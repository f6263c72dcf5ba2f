import { accessSync, constants, readFileSync, statSync, type Stats } from 'node:fs';

const maxSecretBytes = 64 * 1024;
const writableByOthers = 0o002;
const readableByOthers = 0o004;
const tooOpen = 'names a file that every user may write; take that right away (chmod o-w)';

/** A file that can be used, or what is wrong with it and what to do. */
type Inspected = { readonly stats: Stats } | { readonly problem: string };

/**
 * Returns why the file that a variable names cannot be used, as the rest of a sentence about the
 * variable, with the remedy. Returns undefined if it can be read and, if it `isTrusted`, not
 * everybody may write it.
 */
export function findFileProblem(path: string, { isTrusted = false } = {}): string | undefined {
  const inspected = inspect(path);
  if ('problem' in inspected) return inspected.problem;
  return isTrusted && (inspected.stats.mode & writableByOthers) !== 0 ? tooOpen : undefined;
}

/** Returns what is wrong with the file of a secret without reading it; undefined if nothing is. */
export function findSecretFileProblem(path: string): string | undefined {
  const inspected = inspect(path);
  if ('problem' in inspected) return inspected.problem;
  const { size, mode } = inspected.stats;
  if ((mode & writableByOthers) !== 0) return tooOpen;
  if (size === 0) return 'names an empty file; write the secret into it';
  if (size > maxSecretBytes) return 'names a file over 64 KiB; name the file of the secret';
  return undefined;
}

/**
 * Reads a secret from a file, without the line breaks at its end, or returns what is wrong with the
 * file. The problem quotes none of its content.
 */
export function readSecretFile(
  path: string,
): { readonly secret: string } | { readonly problem: string } {
  const problem = findSecretFileProblem(path);
  if (problem !== undefined) return { problem };
  try {
    const secret = readFileSync(path, 'utf8').replace(/[\r\n]+$/, '');
    if (secret === '') return { problem: 'names an empty file; write the secret into it' };
    if (/[\r\n]/.test(secret)) {
      return { problem: 'names a file of several lines; leave the secret alone in it' };
    }
    return { secret };
  } catch (error) {
    return { problem: describe(error) };
  }
}

/** Returns whether every user of the machine may read a file; false if that cannot be found out. */
export function isReadableByOthers(path: string): boolean {
  const inspected = inspect(path);
  return 'stats' in inspected && (inspected.stats.mode & readableByOthers) !== 0;
}

function inspect(path: string): Inspected {
  try {
    const stats = statSync(path);
    if (stats.isDirectory()) return { problem: 'names a directory; name a file' };
    // To read a pipe or a device could wait for ever.
    if (!stats.isFile()) return { problem: 'names something that is no regular file; name a file' };
    accessSync(path, constants.R_OK);
    return { stats };
  } catch (error) {
    return { problem: describe(error) };
  }
}

/** Describes an error of the file system, without the path. */
function describe(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'names a file that does not exist; create it or correct the path';
    case 'EACCES':
    case 'EPERM':
      return 'names a file that this process may not read; let its user read it';
    default:
      return `names a file that cannot be read (${code}); correct the path`;
  }
}
