import { findOpenssl, isOpenssl3 } from '../../node/openssl.ts';
import { DemoError } from '../terminal/demo-error.ts';
import { opensslCommand, verifyFolder } from './proof-folder.ts';
import type { Say } from '../terminal/say.ts';

/** Throws DemoError unless OpenSSL 3 is installed. */
export async function requireOpenssl(): Promise<void> {
  const version = await findOpenssl();
  if (version !== undefined && isOpenssl3(version)) return;
  const found = version === undefined ? 'none is installed' : `${version} is installed`;
  throw new DemoError(`verifying the proof needs OpenSSL 3 as "openssl" in PATH, but ${found}`);
}

/**
 * Verifies a folder with the client library and with OpenSSL. Throws DemoError unless both agree.
 */
export async function verifyTwice(
  directory: string,
  trustedKeys: readonly string[],
  say: Say,
): Promise<void> {
  const { defect, opensslAgrees } = await verifyFolder(directory, trustedKeys);
  say(`client library: ${defect === undefined ? 'valid' : `NOT VALID (${defect})`}`);
  say(`${opensslCommand}: ${opensslAgrees ? 'Verified OK' : 'NOT VERIFIED'}`);
  if (defect !== undefined || !opensslAgrees) {
    throw new DemoError(`the proof in ${directory} is not valid`);
  }
}
