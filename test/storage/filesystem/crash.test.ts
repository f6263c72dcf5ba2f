import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rename, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { createLayout } from '../../../app/storage/filesystem/layout.ts';
import type { ObjectStore } from '../../../app/storage/interface/object-store.ts';
import { crashParts, type CrashEvent } from './crash-parts.ts';
import { collect, putBytes, readObject } from '../../support/documents/stored.ts';

const rounds = Number(process.env['ROUNDS'] ?? 5);
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

/** Returns the events of a writer that was killed as soon as it had printed `count` of them. */
async function killWriter(directory: string, count: number): Promise<CrashEvent[]> {
  const script = join(import.meta.dirname, 'crash-writer.ts');
  const writer = spawn(process.execPath, [script, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(writer, 'close');
  const events: CrashEvent[] = [];
  for await (const line of createInterface({ input: writer.stdout })) {
    events.push(JSON.parse(line) as CrashEvent);
    if (events.length === count) writer.kill('SIGKILL');
  }
  await closed;
  return events;
}

async function isWhole(t: ExecutionContext, store: ObjectStore, key: string): Promise<void> {
  const stored = await readObject(store, key);
  t.true(stored.equals(Buffer.concat(crashParts(key))), key);
}

async function verifyUpload(
  t: ExecutionContext,
  store: ObjectStore,
  events: CrashEvent[],
): Promise<void> {
  const last = events.at(-1) as CrashEvent;
  const { key, uploadId } = last;
  if (last.type === 'completed') {
    t.is((await store.stat(key))?.version, last.version);
    await isWhole(t, store, key);
  }
  if (last.type === 'sent') {
    await store.completeMultipart(key, uploadId, last.parts);
    await isWhole(t, store, key);
  }
  if (last.type === 'aborted' || last.type === 'deleted') t.is(await store.stat(key), undefined);
}

test(`a killed process leaves nothing half done (SEED=${seed} ROUNDS=${rounds})`, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'store-crash-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  for (let round = 0; round < rounds; round++) {
    const events = await killWriter(directory, 1 + ((seed + round * 7919) % 23));
    const store = await createObjectStore({ driver: 'filesystem', directory });
    const uploads = Map.groupBy(events, ({ uploadId }) => uploadId);
    for (const told of uploads.values()) await verifyUpload(t, store, told);
    for (const { key } of await collect(store.listObjects())) await isWhole(t, store, key);
    for (const { key, uploadId } of await collect(store.listUploads())) {
      await store.abortMultipart(key, uploadId);
    }
    t.deepEqual(await readdir(join(directory, 'uploads')), []);
  }
});

test('files that a killed process left in the scratch directory go after an hour', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'store-scratch-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const leftover = join(directory, 'scratch', 'leftover');
  await mkdir(join(leftover, 'parts'), { recursive: true });
  await createObjectStore({ driver: 'filesystem', directory });
  t.deepEqual(await readdir(join(directory, 'scratch')), ['leftover']);
  const anHourAgo = Date.now() / 1000 - 60 * 60 - 1;
  await utimes(leftover, anHourAgo, anHourAgo);
  await createObjectStore({ driver: 'filesystem', directory });
  t.deepEqual(await readdir(join(directory, 'scratch')), []);
});

test('an interrupted removal is completed by the next request for it', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'store-removal-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const layout = createLayout(directory);
  const store = await createObjectStore({ driver: 'filesystem', directory });
  const key = 'a/file.bin';
  const uploadId = await store.createMultipart(key);
  const part = await putBytes(store, { key, uploadId }, 1, Buffer.from('content'));
  const cutOff = async (path: string) => rename(path, join(layout.scratch, basename(path)));

  await store.completeMultipart(key, uploadId, [part]);
  await cutOff(layout.objectDirectory(key));
  await store.delete(key);
  t.deepEqual(await readdir(layout.scratch), []);

  const other = await store.createMultipart(key);
  await putBytes(store, { key, uploadId: other }, 1, Buffer.from('content'));
  await cutOff(layout.uploadDirectory(key, other));
  await store.abortMultipart(key, other);
  t.deepEqual(await readdir(layout.scratch), []);
});
