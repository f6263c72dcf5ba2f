import { hash, randomBytes } from 'node:crypto';

/** The holders of internal API keys that a release needs; the names stand in audit entries. */
export const holders = ['maintenance', 'operator'] as const;

/** Creates an internal API key of 256 random bits, in the form of `probatio api-key create`. */
export function createInternalKey(): string {
  return `pik_${randomBytes(32).toString('base64url')}`;
}

/** Returns the file of hashes by which the app knows the keys, all with the admin right. */
export function hashesOf(keys: Readonly<Record<string, string>>): string {
  const lines = Object.entries(keys).map(
    ([name, key]) => `  ${JSON.stringify({ name, sha256: hash('sha256', key), admin: true })}`,
  );
  return `[\n${lines.join(',\n')}\n]\n`;
}
