import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';

/** Writes a file with this text, or with this value as JSON. It is removed when the test ends. */
export async function issuersFile(t: ExecutionContext, content: unknown): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-issuers-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const file = path.join(directory, 'issuers.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}
