import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createObjectStore } from '../../app/storage/create-store.ts';
import type { ObjectStore } from '../../app/storage/interface/object-store.ts';
import { StorageError } from '../../app/storage/interface/storage-error.ts';
import { watchStore } from '../../app/storage/store-watch.ts';
import { testBytes } from '../support/documents/bytes.ts';
import { collect, openUpload, putBytes, throwsCode } from '../support/documents/stored.ts';
import { mayMount, mountSmallVolume, untilFree } from '../support/documents/tmpfs.ts';

const mounted = mayMount ? test : test.skip;
const MiB = 2 ** 20;

async function openWatched(t: ExecutionContext) {
  const volume = await mountSmallVolume(t);
  const real = await createObjectStore({ driver: 'filesystem', directory: volume.directory });
  const sizes: number[] = [];
  const recorded: ObjectStore = {
    ...real,
    putPart(part, body, options) {
      sizes.push(part.size);
      return real.putPart(part, body, options);
    },
  };
  return { ...watchStore(recorded, () => new Date()), real, sizes, volume };
}

const untilItTakesData = (check: () => Promise<void>) =>
  until(
    () =>
      check().then(
        () => true,
        () => false,
      ),
    { what: 'the store to take data', timeoutMs: 60_000 },
  );

mounted('a check writes a little, once in a while, and leaves nothing', async (t) => {
  const { watch, real, sizes } = await openWatched(t);
  await Promise.all(Array.from({ length: 10 }, () => watch.check()));
  await watch.check();
  t.deepEqual(sizes, [1_024]);
  t.deepEqual(await collect(real.listUploads()), []);
  t.deepEqual(await collect(real.listObjects()), []);
  t.is(watch.fullSince, undefined);
});

mounted('a store that takes a few bytes but no part stays full until it takes one', async (t) => {
  const { store, watch, real, sizes, volume } = await openWatched(t);
  await watch.check();
  const large = await openUpload(store);
  await putBytes(store, large, 1, testBytes(20 * MiB, 1));
  const other = await openUpload(store);
  await throwsCode(t, putBytes(store, other, 1, testBytes(6 * MiB, 2)), 'storage_full');
  t.true(watch.fullSince instanceof Date);
  await throwsCode(t, watch.check(), 'storage_full');
  t.is(sizes.at(-1), 6 * MiB, 'the probe is as large as the refused part');
  await untilFree(volume.directory, 1 * MiB);
  // A small write does not prove that there is room again.
  await putBytes(store, other, 1, testBytes(1_000, 3));
  await throwsCode(t, watch.check(), 'storage_full');

  await real.abortMultipart(large.key, large.uploadId);
  await untilItTakesData(watch.check);
  t.is(watch.fullSince, undefined);
  t.is(await collect(real.listUploads()).then(({ length }) => length), 1);
});

mounted('a write that succeeds ends the alarm without another probe', async (t) => {
  const { store, watch, sizes, volume } = await openWatched(t);
  const upload = await openUpload(store);
  const end = await volume.exhaust('space');
  await throwsCode(t, putBytes(store, upload, 1, testBytes(1 * MiB, 1)), 'storage_full');
  t.true(watch.fullSince instanceof Date);
  await end();
  await putBytes(store, upload, 1, testBytes(1 * MiB, 1));
  t.is(watch.fullSince, undefined);
  t.is(sizes.length, 2);
});

mounted('without any upload a check finds the store full, and finds it well again', async (t) => {
  const { watch, volume } = await openWatched(t);
  const end = await volume.exhaust('space');
  await throwsCode(t, watch.check(), 'storage_full');
  t.true(watch.fullSince instanceof Date);
  await end();
  await untilItTakesData(watch.check);
  t.is(watch.fullSince, undefined);
});

test('a check of a store that is gone fails as unavailable', async (t) => {
  const gone = await createObjectStore(
    { driver: 'filesystem', directory: '/proc/nowhere' },
    { mayCreate: async () => false },
  );
  const { watch } = watchStore(gone, () => new Date());
  await t.throwsAsync(watch.check(), { instanceOf: StorageError, code: 'storage_unavailable' });
  t.is(watch.fullSince, undefined);
});
