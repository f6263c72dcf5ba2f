import type { ExecutionContext } from 'ava';
import type { ObjectStore, StoredPart } from '../../../app/storage/interface/object-store.ts';
import {
  type StorageErrorCode,
  StorageError,
} from '../../../app/storage/interface/storage-error.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import {
  collect,
  newKey,
  openUpload,
  putBytes,
  storeObject,
} from '../../support/documents/stored.ts';

/** The contents of a test's store: an upload with a part, and an object. */
export interface Contents {
  readonly upload: { readonly key: string; readonly uploadId: string };
  readonly part: StoredPart;
  readonly object: { readonly key: string; readonly version: string };
}

export async function fillStore(store: ObjectStore): Promise<Contents> {
  const upload = await openUpload(store);
  const part = await putBytes(store, upload, 1, testBytes(1_000, 1));
  return { upload, part, object: await storeObject(store, [testBytes(1_000, 2)]) };
}

function everyOperation(store: ObjectStore, { upload, part, object }: Contents) {
  const { key, uploadId } = upload;
  const operations: Record<string, () => Promise<unknown>> = {
    ping: () => store.ping(),
    createMultipart: () => store.createMultipart(newKey()),
    putPart: () => putBytes(store, upload, 2, testBytes(1_000, 3)),
    completeMultipart: () => store.completeMultipart(key, uploadId, [part]),
    findLostParts: () => store.findLostParts(key, uploadId, [part]),
    abortMultipart: () => store.abortMultipart(key, uploadId),
    stat: () => store.stat(object.key),
    'stat of nothing': () => store.stat(newKey()),
    get: () => store.get(object.key, { ifVersion: object.version }),
    delete: () => store.delete(object.key),
    'delete of a version': () => store.delete(object.key, object.version),
    listUploads: () => collect(store.listUploads()),
    listObjects: () => collect(store.listObjects()),
  };
  return operations;
}

export async function everythingThrows(
  t: ExecutionContext,
  store: ObjectStore,
  contents: Contents,
  code: StorageErrorCode,
): Promise<void> {
  const outcomes: Record<string, unknown> = {};
  const expected: Record<string, unknown> = {};
  for (const [name, operation] of Object.entries(everyOperation(store, contents))) {
    expected[name] = code;
    try {
      await operation();
      outcomes[name] = 'no error';
    } catch (error) {
      outcomes[name] = error instanceof StorageError ? error.code : error;
    }
  }
  t.deepEqual(outcomes, expected);
}
