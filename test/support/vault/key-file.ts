import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createApiKey, type ApiKey } from '../../../app/internal-api/api-key-format.ts';

/** A test's own file of internal API keys, and the keys whose hashes it has. */
export interface KeyFile {
  readonly path: string;
  readonly admin: string;
  /** A key without the admin right. */
  readonly plain: string;
  remove(): Promise<void>;
}

export async function createKeyFile(): Promise<KeyFile> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-keys-'));
  const file = path.join(directory, 'keys.json');
  const admin = createApiKey({ name: 'test-admin', admin: true });
  const plain = createApiKey({ name: 'test-plain', admin: false });
  await writeKeys(file, [admin.kept, plain.kept]);
  return {
    path: file,
    admin: admin.key,
    plain: plain.key,
    remove: () => rm(directory, { recursive: true }),
  };
}

export async function writeKeys(file: string, keys: readonly ApiKey[]): Promise<void> {
  await writeFile(file, JSON.stringify(keys));
}
