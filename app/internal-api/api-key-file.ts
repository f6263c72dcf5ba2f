import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { ApiKey } from './api-key-format.ts';

const ApiKeys = z
  .array(ApiKey)
  .refine((keys) => areUnique(keys.map(({ name }) => name)), 'two keys have the same name')
  .refine((keys) => areUnique(keys.map(({ sha256 }) => sha256)), 'a key is listed twice');

/**
 * Reads a file of API keys. Throws the system's error, or an error that quotes none of the file's
 * content.
 */
export async function readApiKeys(path: string): Promise<ApiKey[]> {
  const parsed = ApiKeys.safeParse(parseJson(await readFile(path, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new Error(
    `it is not a list of API keys (${parsed.error.issues.map(describeIssue).join('; ')})`,
  );
}

/**
 * Adds a key to the file, which is created with mode 0600 if missing. Concurrent readers see either
 * the old file or the new file. Throws if the file has a key of this name, or while another process
 * is adding a key.
 */
export async function addApiKey(path: string, key: ApiKey): Promise<void> {
  // Exclusive creation makes this file a lock: only one process can hold it.
  const next = `${path}.new`;
  await writeFile(next, '', { mode: 0o600, flag: 'wx' }).catch(refuseSecond(next));
  try {
    const keys = await readApiKeys(path).catch(noneIfMissing(path));
    if (keys.some(({ name }) => name === key.name)) {
      throw new Error(`${path} has a key named ${key.name} already; choose another name`);
    }
    const lines = [...keys, key].map((one) => `  ${JSON.stringify(one)}`);
    await writeFile(next, `[\n${lines.join(',\n')}\n]\n`, { flush: true });
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own error quotes the text, which may hold a key.
    throw new Error('it is not JSON');
  }
}

function describeIssue({ code, path, message }: z.core.$ZodIssue): string {
  const what = code === 'unrecognized_keys' ? 'unknown field' : message;
  return path.length === 0 ? what : `${path.map(String).join('.')}: ${what}`;
}

function areUnique(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}

/**
 * Returns an error handler that returns no keys if the file is missing. It rethrows other errors,
 * with the path added unless they are system errors, which name the path already.
 */
function noneIfMissing(path: string) {
  return (error: Error): ApiKey[] => {
    const code = codeOf(error);
    if (code === 'ENOENT') return [];
    throw code === undefined ? new Error(`${path}: ${error.message}`, { cause: error }) : error;
  };
}

function refuseSecond(path: string) {
  return (error: unknown): never => {
    if (codeOf(error) !== 'EEXIST') throw error;
    throw new Error(
      `${path} exists: another process is adding a key; if none is running, remove the file`,
      {
        cause: error,
      },
    );
  };
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
