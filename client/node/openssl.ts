import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** To be run beside the files of `writeProofFiles`. */
export const opensslArguments = [
  'dgst',
  '-sha3-256',
  '-verify',
  'key.pem',
  '-signature',
  'signature.der',
  'entry.json',
];

/** Such as "OpenSSL 3.0.19 27 Jan 2026"; undefined if there is no `openssl` to run. */
export async function findOpenssl(): Promise<string | undefined> {
  try {
    return (await run('openssl', ['version'])).stdout.trim();
  } catch {
    return undefined;
  }
}

/** LibreSSL, which macOS calls openssl, and OpenSSL 1 do not know all of it. */
export function isOpenssl3(version: string): boolean {
  return /^OpenSSL (?:[3-9]|\d\d)/.test(version);
}

/**
 * Whether OpenSSL takes the signature in this directory under the key that lies beside it; whose key
 * that is, only a fingerprint from elsewhere tells. Throws if there is no `openssl` to run.
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
