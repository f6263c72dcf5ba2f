import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { createServiceLog, type Log } from './log.ts';

/** Creates the log of a process of the signer. */
export function createSignerLog(
  service: 'signer' | 'signer-hsm' | 'provisioner',
  level: string,
): Log {
  return createServiceLog({ service, version: findVersion(), level });
}

/** Returns the version of this package. */
export function findVersion(): string {
  const file = findPackageJSON(import.meta.url);
  if (file === undefined) throw new Error('the signer has no package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}
