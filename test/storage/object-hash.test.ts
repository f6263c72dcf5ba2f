import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createObjectStore, type StoreConfig } from '../../app/storage/create-store.ts';
import { createObjectHasher } from '../../app/storage/object-hash.ts';
import { partBytes, testBytes } from '../support/documents/bytes.ts';
import { newKey, storeObject, throwsCode } from '../support/documents/stored.ts';

const directory = await mkdtemp(join(tmpdir(), 'object-hash-'));
const config: StoreConfig = { driver: 'filesystem', directory };
const store = await createObjectStore(config);
const hasher = createObjectHasher(config, { concurrency: 2 });
test.after.always(async () => {
  await hasher.close();
  await rm(directory, { recursive: true, force: true });
});

test('the hash is the SHA3-256 of all stored bytes', async (t) => {
  const contents = [testBytes(partBytes, 1), testBytes(partBytes, 2), testBytes(777, 3)];
  const { key, version } = await storeObject(store, contents);
  const whole = Buffer.concat(contents);
  const sha3 = createHash('sha3-256').update(whole).digest('hex');
  t.deepEqual(await hasher.hash(key, version), { sha3, size: whole.length });
});

test('more objects than threads are all hashed', async (t) => {
  const contents = Array.from({ length: 7 }, (_, i) => testBytes(100_000 + i, i));
  const hashes = await Promise.all(
    contents.map(async (bytes) => {
      const { key, version } = await storeObject(store, [bytes]);
      return hasher.hash(key, version);
    }),
  );
  const expected = contents.map((bytes) => ({
    sha3: createHash('sha3-256').update(bytes).digest('hex'),
    size: bytes.length,
  }));
  t.deepEqual(hashes, expected);
});

test('an object is read no faster than the limit allows', async (t) => {
  const { key, version } = await storeObject(store, [testBytes(1_000_000, 1)]);
  const startedAt = performance.now();
  t.is((await hasher.hash(key, version, { bytesPerSecond: 4_000_000 })).size, 1_000_000);
  t.true(performance.now() - startedAt >= 240);
});

test('missing and changed objects give distinct errors, and the thread continues', async (t) => {
  const { key, version } = await storeObject(store, [testBytes(1_000, 1)]);
  await throwsCode(t, hasher.hash(newKey(), version), 'object_not_found');
  await throwsCode(t, hasher.hash(key, 'another'), 'version_changed');
  t.is((await hasher.hash(key, version)).size, 1_000);
});

test('a thread that cannot start fails its jobs and no others', async (t) => {
  const noDirectory = JSON.parse('{"driver":"filesystem"}') as StoreConfig;
  const broken = createObjectHasher(noDirectory, { concurrency: 1 });
  t.teardown(() => broken.close());
  const jobs = [broken.hash('a/b', 'v'), broken.hash('c/d', 'v')];
  for (const job of jobs) await throwsCode(t, job, 'storage_unavailable');
});

test('closing rejects waiting, running and later jobs', async (t) => {
  const { key, version } = await storeObject(store, [testBytes(partBytes, 1)]);
  const closing = createObjectHasher(config, { concurrency: 1 });
  const jobs = [closing.hash(key, version), closing.hash(key, version)];
  await closing.close();
  for (const job of [...jobs, closing.hash(key, version)]) {
    await throwsCode(t, job, 'storage_unavailable');
  }
});
