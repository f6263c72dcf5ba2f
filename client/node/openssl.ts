import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Arguments of openssl, to be run in a directory with the files of `writeProofFiles`. */
export const opensslArguments = [
  'dgst',
  '-sha3-256',
  '-verify',
  'key.pem',
  '-signature',
  'signature.der',
  'entry.json',
];

/**
 * Resolves with a version such as "OpenSSL 3.0.19 27 Jan 2026"; undefined if there is no `openssl`.
 */
export async function findOpenssl(): Promise<string | undefined> {
  try {
    return (await run('openssl', ['version'])).stdout.trim();
  } catch {
    return undefined;
  }
}

/**
 * Returns whether the version is OpenSSL 3 or later; OpenSSL 1 and LibreSSL, the openssl of macOS,
 * cannot verify proofs.
 */
export function isOpenssl3(version: string): boolean {
  return /^OpenSSL (?:[3-9]|\d\d)/.test(version);
}

/**
 * Resolves with whether OpenSSL verifies the signature in this directory with the key beside it.
 * This does not show whose key it is: compare its fingerprint with one from another source. Throws
 * if `openssl` cannot be run.
 */
export async function verifyWithOpenssl(directory: string): Promise<boolean> {
  try {
    await run('openssl', opensslArguments, { cwd: directory });
    return true;
  } catch (error) {
    const hasExited = error instanceof Error && 'code' in error && error.code === 1;
    if (hasExited) return false;
    throw error;
  }
}
