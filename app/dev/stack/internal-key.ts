import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApiKey } from '../../internal/api-key.ts';
import type { Layout } from '../files/layout.ts';

/** Both closed to other users. */
interface InternalKeyFiles {
  /** The developer's key, for the header X-Internal-Api-Key. */
  readonly key: string;
  /** What the app knows of it. */
  readonly hashes: string;
}

export function internalKeyFiles({ secrets }: Pick<Layout, 'secrets'>): InternalKeyFiles {
  return {
    key: join(secrets, 'internal-api-key'),
    hashes: join(secrets, 'internal-api-keys.json'),
  };
}

/** Makes the key on first use; whoever deletes its file gets another one. */
export async function ensureInternalKey(files: InternalKeyFiles): Promise<void> {
  if ((await readFile(files.key, 'utf8').catch(() => '')) !== '') return;
  const { key, kept } = createApiKey({ name: 'development', admin: true });
  await writeFile(files.hashes, `${JSON.stringify([kept])}\n`, { mode: 0o600, flush: true });
  // Last: a start that was killed before makes both again.
  await writeFile(files.key, key, { mode: 0o600, flush: true });
}
