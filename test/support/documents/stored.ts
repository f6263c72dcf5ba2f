import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type {
  GetOptions,
  ObjectStore,
  StoredPart,
} from '../../../app/storage/interface/object-store.ts';
import {
  StorageError,
  type StorageErrorCode,
} from '../../../app/storage/interface/storage-error.ts';
import { bodyOf, readAll } from './bytes.ts';

/** Declares a test of a guarantee that every object store must give. */
export type Guarantee = (
  title: string,
  body: (t: ExecutionContext, store: ObjectStore) => Promise<void>,
) => void;

export const newKey = (name = 'file.bin') => `${randomUUID()}/${name}`;

export async function throwsCode(
  t: ExecutionContext,
  work: Promise<unknown>,
  ...codes: StorageErrorCode[]
): Promise<void> {
  const error = await t.throwsAsync(work, { instanceOf: StorageError });
  t.true(codes.includes(error.code), `${error.code}, not ${codes.join(' or ')}`);
}

export async function putBytes(
  store: ObjectStore,
  upload: { readonly key: string; readonly uploadId: string },
  partNumber: number,
  bytes: Buffer,
): Promise<StoredPart> {
  const part = { ...upload, partNumber, size: bytes.length };
  return { partNumber, ...(await store.putPart(part, bodyOf(bytes))) };
}

export async function openUpload(
  store: ObjectStore,
  key = newKey(),
): Promise<{ readonly key: string; readonly uploadId: string }> {
  return { key, uploadId: await store.createMultipart(key) };
}

export async function storeObject(
  store: ObjectStore,
  contents: Buffer[],
  key = newKey(),
): Promise<{ readonly key: string; readonly version: string }> {
  const upload = await openUpload(store, key);
  const parts = [];
  for (const [index, bytes] of contents.entries()) {
    parts.push(await putBytes(store, upload, index + 1, bytes));
  }
  return { key, ...(await store.completeMultipart(key, upload.uploadId, parts)) };
}

export async function readObject(
  store: ObjectStore,
  key: string,
  options?: GetOptions,
): Promise<Buffer> {
  return readAll((await store.get(key, options)).body);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected = [];
  for await (const item of items) collected.push(item);
  return collected;
}
