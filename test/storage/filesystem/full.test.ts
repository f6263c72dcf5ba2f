import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { toStorageError } from '../../../app/storage/filesystem/file-error.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import {
  newKey,
  openUpload,
  putBytes,
  readObject,
  storeObject,
  throwsCode,
} from '../../support/documents/stored.ts';
import { mayMount, mountSmallVolume, type Exhaustion } from '../../support/documents/tmpfs.ts';

const mounted = mayMount ? test : test.skip;

/** Lists the files of an open upload and of the scratch directory. */
async function listRemains(directory: string): Promise<string[]> {
  const uploads = join(directory, 'uploads');
  const found = await Promise.all(
    (await readdir(uploads)).map((name) => readdir(join(uploads, name))),
  );
  return [...found.flat(), ...(await readdir(join(directory, 'scratch')))];
}

const exhaustions: Readonly<Record<Exhaustion, string>> = {
  space: 'space',
  inodes: 'inodes',
  writing: 'the right to write',
};
for (const [what, words] of Object.entries(exhaustions)) {
  mounted(`a store without ${words} is full, keeps what it has, and goes on`, async (t) => {
    const volume = await mountSmallVolume(t);
    const store = await createObjectStore({ driver: 'filesystem', directory: volume.directory });
    const { key } = await storeObject(store, [testBytes(1_000, 1)]);
    const upload = await openUpload(store);
    const part = await putBytes(store, upload, 1, testBytes(1_000, 2));
    const before = await listRemains(volume.directory);

    const end = await volume.exhaust(what as Exhaustion);
    await throwsCode(t, store.createMultipart(newKey()), 'storage_full');
    await throwsCode(t, putBytes(store, upload, 2, testBytes(100_000, 3)), 'storage_full');
    await throwsCode(
      t,
      store.completeMultipart(upload.key, upload.uploadId, [part]),
      'storage_full',
    );
    t.deepEqual(await readObject(store, key), testBytes(1_000, 1));
    t.deepEqual(await listRemains(volume.directory), before);

    await end();
    await putBytes(store, upload, 2, testBytes(100_000, 3));
    await store.completeMultipart(upload.key, upload.uploadId, [part]);
    t.deepEqual(await readObject(store, upload.key), testBytes(1_000, 2));
  });
}

mounted('a store states the shares of space and inodes that are free', async (t) => {
  const volume = await mountSmallVolume(t);
  const store = await createObjectStore({ driver: 'filesystem', directory: volume.directory });
  const before = await store.freeSpace();
  t.true(before !== undefined && before.bytes > 0.9 && before.inodes > 0.9);
  const end = await volume.exhaust('space');
  t.like(await store.freeSpace(), { bytes: 0 });
  await end();
  await volume.exhaust('inodes');
  const after = await store.freeSpace();
  t.true(after !== undefined && after.bytes > 0.9 && after.inodes === 0);
});

test('a used up quota counts as a full store', (t) => {
  const error = Object.assign(new Error('EDQUOT: quota exceeded, write'), { code: 'EDQUOT' });
  t.is(toStorageError(error, 'storage_unavailable').code, 'storage_full');
});
