import { findOpenssl, isOpenssl3 } from '../../node/openssl.ts';
import { DemoError } from '../terminal/demo-error.ts';
import { opensslCommand, verifyFolder } from './proof-folder.ts';
import type { Say } from '../terminal/say.ts';

/** Throws DemoError unless OpenSSL 3 is here. */
export async function requireOpenssl(): Promise<void> {
  const version = await findOpenssl();
  if (version !== undefined && isOpenssl3(version)) return;
  const found = version === undefined ? 'there is none' : `this one is ${version}`;
  throw new DemoError(`checking the proof takes OpenSSL 3 as "openssl" in PATH, and ${found}`);
}

/** Checks a folder twice and tells. Throws DemoError unless both agree that all is right. */
export async function verifyTwice(
  directory: string,
  trustedKeys: readonly string[],
  say: Say,
): Promise<void> {
  const { defect, opensslAgrees } = await verifyFolder(directory, trustedKeys);
  say(`client library: ${defect === undefined ? 'valid' : `NOT VALID (${defect})`}`);
  say(`${opensslCommand}: ${opensslAgrees ? 'Verified OK' : 'NOT VERIFIED'}`);
  if (defect !== undefined || !opensslAgrees) {
    throw new DemoError(`the proof in ${directory} does not hold`);
  }
}
