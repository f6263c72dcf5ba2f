import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApiKey } from '../../internal-api/api-key-format.ts';
import type { Layout } from '../files/layout.ts';

/** The paths of the files of the internal API key, both closed to other users. */
interface InternalKeyFiles {
  /** File of the developer's API key, for the header X-Internal-Api-Key. */
  readonly key: string;
  /** File of the API key's hash, which the app reads. */
  readonly hashes: string;
}

export function internalKeyFiles({ secrets }: Pick<Layout, 'secrets'>): InternalKeyFiles {
  return {
    key: join(secrets, 'internal-api-key'),
    hashes: join(secrets, 'internal-api-keys.json'),
  };
}

/**
 * Creates the internal API key and writes both of its files, unless the key file already contains a
 * key.
 */
export async function ensureInternalKey(files: InternalKeyFiles): Promise<void> {
  if ((await readFile(files.key, 'utf8').catch(() => '')) !== '') return;
  const { key, kept } = createApiKey({ name: 'development', admin: true });
  await writeFile(files.hashes, `${JSON.stringify([kept])}\n`, { mode: 0o600, flush: true });
  // The key file is written last: if the stack is killed before, the next start writes both files
  // again.
  await writeFile(files.key, key, { mode: 0o600, flush: true });
}
