import { readdir, readlink } from 'node:fs/promises';
import type { Api } from '../../support/documents/uploads.ts';
import { objectDirectory } from '../../support/documents/stored-files.ts';
import type { TestVault } from '../../support/vault/vault.ts';

export interface Downloaded {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** A download of a document as it is; rejects when the connection breaks in the middle. */
export async function download(
  vault: TestVault,
  api: Api,
  target: string,
  { method = 'GET', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
): Promise<Downloaded> {
  const response = await fetch(`${vault.baseUrl}/v1/documents/${target}`, {
    method,
    headers: { authorization: `Bearer ${api.token}`, ...headers },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

/** The code of an error body. */
export function codeOf({ bytes }: Downloaded): unknown {
  return (JSON.parse(bytes.toString()) as { code: unknown }).code;
}

/** How many files of the object under a key this process has open. Linux. */
export async function countOpenFiles(vault: TestVault, key: string): Promise<number> {
  const directory = `${objectDirectory(vault, key)}/`;
  const targets = await Promise.all(
    // Others may be closed at this moment.
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(directory)).length;
}
