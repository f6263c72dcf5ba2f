import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A secret, and the path of the file (mode 0600) that holds it. */
interface Secret {
  readonly value: string;
  readonly file: string;
}

/**
 * Loads the secret called `name`, or creates it if its file does not exist. A secret is 32 random
 * hex digits, which need no escaping in URLs or SQL and are short enough for a PIN.
 */
export async function loadSecret(directory: string, name: string): Promise<Secret> {
  const file = join(directory, name);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  try {
    await writeFile(file, randomBytes(16).toString('hex'), {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  const value = await readFile(file, 'utf8');
  if (value === '')
    throw new Error(`${file} is empty: delete it together with the data it protects`);
  return { value, file };
}
