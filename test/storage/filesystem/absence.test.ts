import { execFile } from 'node:child_process';
import { renameSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { createObjectHasher } from '../../../app/storage/object-hash.ts';
import { partBytes, testBytes } from '../../support/documents/bytes.ts';
import { everythingThrows, fillStore } from '../contract/every-operation.ts';
import {
  openUpload,
  putBytes,
  readObject,
  storeObject,
  throwsCode,
} from '../../support/documents/stored.ts';
import { mayMount, mountTmpfs } from '../../support/documents/tmpfs.ts';

const run = promisify(execFile);

/** Returns a path that a test may move away; it is removed with its parent directory. */
async function newDirectory(t: ExecutionContext): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'store-absence-'));
  t.teardown(() => rm(parent, { recursive: true, force: true }));
  return join(parent, 'store');
}

const open = (directory: string, mayCreate?: () => Promise<boolean>) =>
  createObjectStore({ driver: 'filesystem', directory }, { mayCreate });
const never = async () => false;

const losses: Record<string, (directory: string) => Promise<void>> = {
  'is gone': async () => {},
  'is empty': async (directory) => {
    await mkdir(directory);
  },
  'is a file': (directory) => writeFile(directory, ''),
  'has its directories but not its identity': async (directory) => {
    for (const name of ['uploads', 'objects', 'scratch']) {
      await mkdir(join(directory, name), { recursive: true });
    }
  },
  'is another one': async (directory) => {
    await open(directory);
  },
};
for (const [what, lose] of Object.entries(losses)) {
  test(`a store that ${what} is unavailable, and unchanged once it is back`, async (t) => {
    const directory = await newDirectory(t);
    const store = await open(directory);
    const contents = await fillStore(store);
    await rename(directory, `${directory}-aside`);
    await lose(directory);
    await everythingThrows(t, store, contents, 'storage_unavailable');
    await rm(directory, { recursive: true, force: true });
    await rename(`${directory}-aside`, directory);
    await store.ping();
    t.deepEqual(await readObject(store, contents.object.key), testBytes(1_000, 2));
    const { key, uploadId } = contents.upload;
    await store.completeMultipart(key, uploadId, [contents.part]);
  });
}

test('a store with a file in place of a directory is unavailable', async (t) => {
  for (const name of ['uploads', 'objects', 'scratch']) {
    const directory = await newDirectory(t);
    const store = await open(directory);
    await rm(join(directory, name), { recursive: true });
    await writeFile(join(directory, name), '');
    await throwsCode(t, store.ping(), 'storage_unavailable');
  }
});

test('a store is created with its parents, or unavailable if it cannot be', async (t) => {
  const directory = join(await newDirectory(t), 'of', 'evidence');
  const store = await open(directory);
  await store.ping();
  // Every creation below /proc fails with ENOENT.
  await throwsCode(t, (await open('/proc/store')).ping(), 'storage_unavailable');
});

test('an upload that is missing for a moment has not ended', async (t) => {
  const directory = await newDirectory(t);
  const store = await open(directory);
  const upload = await openUpload(store);
  const uploads = join(directory, 'uploads');
  await rename(uploads, `${uploads}-aside`);
  const body = new Readable({ read: () => undefined });
  const sent = store.putPart({ ...upload, partNumber: 1, size: 1_000 }, body);
  // The body is released once the part's file could not be opened.
  body.once('pause', () => renameSync(`${uploads}-aside`, uploads));
  await throwsCode(t, sent, 'storage_unavailable');
  await putBytes(store, upload, 1, testBytes(1_000, 1));
});

test('a read whose store disappears fails as unavailable', async (t) => {
  const directory = await newDirectory(t);
  const store = await open(directory);
  const parts = [testBytes(partBytes, 1), testBytes(partBytes, 2)];
  const { key } = await storeObject(store, parts);
  const { body } = await store.get(key);
  await rename(directory, `${directory}-aside`);
  await throwsCode(t, body.toArray(), 'storage_unavailable');
});

test('a store that may not be created is unavailable until it exists', async (t) => {
  const directory = await newDirectory(t);
  const contents = await fillStore(await open(directory));
  await rename(directory, `${directory}-aside`);
  await mkdir(directory);
  const store = await open(directory, never);
  await everythingThrows(t, store, contents, 'storage_unavailable');
  t.deepEqual(await readdir(directory), []);
  await rm(directory, { recursive: true });
  await rename(`${directory}-aside`, directory);
  await store.ping();
  t.deepEqual(await readObject(store, contents.object.key), testBytes(1_000, 2));
});

test('a store is created as soon as it may be, and only once', async (t) => {
  const directory = await newDirectory(t);
  let answer = async () => Promise.reject<boolean>(new Error('the database cannot be reached'));
  const store = await open(directory, () => answer());
  await throwsCode(t, store.ping(), 'storage_unavailable');
  answer = async () => true;
  await storeObject(store, [testBytes(1_000, 1)]);
  await rm(directory, { recursive: true });
  await mkdir(directory);
  await throwsCode(t, store.createMultipart('a/b'), 'storage_unavailable');
  t.deepEqual(await readdir(directory), []);
});

test('one of several processes that start concurrently creates the store', async (t) => {
  const directory = await newDirectory(t);
  const stores = await Promise.all(Array.from({ length: 20 }, () => open(directory)));
  const [first] = stores;
  const { key } = await storeObject(first ?? (await open(directory)), [testBytes(1_000, 1)]);
  for (const store of stores) t.is((await store.stat(key))?.size, 1_000);
});

test('a directory from before stores had an identity is accepted as a store', async (t) => {
  const directory = await newDirectory(t);
  const { object } = await fillStore(await open(directory));
  await rm(join(directory, 'store'), { recursive: true });
  const store = await open(directory);
  t.deepEqual(await readObject(store, object.key), testBytes(1_000, 2));
});

test('a hashing thread creates no store', async (t) => {
  const directory = await newDirectory(t);
  const hasher = createObjectHasher({ driver: 'filesystem', directory }, { concurrency: 1 });
  t.teardown(() => hasher.close());
  await throwsCode(t, hasher.hash('a/b', 'v'), 'storage_unavailable');
  await throwsCode(
    t,
    open(directory, never).then((store) => store.ping()),
    'storage_unavailable',
  );
});

(mayMount ? test : test.skip)('an unmounted volume is not taken for an empty store', async (t) => {
  const mountPoint = await newDirectory(t);
  await mkdir(mountPoint);
  const unmount = () => run('umount', [mountPoint]);
  await mountTmpfs(mountPoint, '8m');
  const store = await open(mountPoint);
  const contents = await fillStore(store);
  await cp(mountPoint, `${mountPoint}-volume`, { recursive: true });
  await unmount();
  await everythingThrows(t, store, contents, 'storage_unavailable');
  await everythingThrows(t, await open(mountPoint, never), contents, 'storage_unavailable');
  t.deepEqual(await readdir(mountPoint), []);
  await run('mount', ['--bind', `${mountPoint}-volume`, mountPoint]);
  t.teardown(unmount);
  t.deepEqual(await readObject(store, contents.object.key), testBytes(1_000, 2));
});
