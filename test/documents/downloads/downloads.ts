import { readdir, readlink } from 'node:fs/promises';
import type { Api } from '../../support/documents/uploads.ts';
import { objectDirectory } from '../../support/documents/stored-files.ts';
import type { Vault } from '../../support/vault/vault.ts';

export interface Downloaded {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Downloads a document without judging the response. Rejects if the connection breaks. */
export async function download(
  vault: Vault,
  api: Api,
  target: string,
  {
    method = 'GET',
    headers = {},
  }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Downloaded> {
  const response = await fetch(`${vault.baseUrl}/v1/documents/${target}`, {
    method,
    headers: { authorization: `Bearer ${api.token}`, ...headers },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes };
}

/** Returns the code of an error body. */
export function codeOf({ bytes }: Downloaded): unknown {
  return (JSON.parse(bytes.toString()) as { readonly code: unknown }).code;
}

/** Returns how many files of the object under a key this process has open. Linux only. */
export async function countOpenFiles(vault: Vault, key: string): Promise<number> {
  const directory = `${objectDirectory(vault, key)}/`;
  const targets = await Promise.all(
    // Other descriptors may be closed at this moment.
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(directory)).length;
}
