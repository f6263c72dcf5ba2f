import { createObjectStore, type StoreConfig } from '../../../../app/storage/create-store.ts';
import { createObjectHasher } from '../../../../app/storage/object-hash.ts';
import { StorageError } from '../../../../app/storage/interface/storage-error.ts';
import { partBytes, testBytes } from '../../../support/documents/bytes.ts';
import { readObject, storeObject } from '../../../support/documents/stored.ts';

// Stores, reads and hashes an object in the store of argv[2], and prints the outcome.
const config = JSON.parse(process.argv[2] as string) as StoreConfig;
const store = await createObjectStore(config);
const hasher = createObjectHasher(config, { concurrency: 1 });
const contents = [testBytes(partBytes, 1), testBytes(1_000, 2)];
try {
  const { key, version } = await storeObject(store, contents);
  const isSame = Buffer.concat(contents).equals(await readObject(store, key));
  const { size } = await hasher.hash(key, version);
  console.log(isSame && size === partBytes + 1_000 ? 'stored' : 'other bytes');
} catch (error) {
  console.log(error instanceof StorageError ? error.code : error);
}
await hasher.close();
await store.close();
