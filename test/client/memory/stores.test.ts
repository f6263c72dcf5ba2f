import 'fake-indexeddb/auto';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openDB } from 'idb';
import {
  forgetMemoryDatabase,
  openMemoryDatabase,
} from '../../../client/browser/memory-database.ts';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import type { MemoryStore } from '../../../client/memory/storage/memory-store.ts';
import { openMemoryFile } from '../../../client/node/memory-file.ts';

/** A place that holds a store. Each client opens it and closes it again. */
type Place = () => Promise<{ store: MemoryStore; close(): void | Promise<void> }>;

const temporaryPath = async () => join(await mkdtemp(join(tmpdir(), 'memory-')), 'memory');

async function openFile(path: string) {
  const store = await openMemoryFile(path);
  return { store, close: async () => store[Symbol.asyncDispose]() };
}

async function openDatabase(name: string) {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), 3_000);
  const store = await openMemoryDatabase({ name, signal: patience.signal }).finally(() =>
    clearTimeout(timer),
  );
  return { store, close: () => store.close() };
}

const places: Record<string, () => Promise<Place>> = {
  async file() {
    const path = await temporaryPath();
    return () => openFile(path);
  },
  async IndexedDB() {
    const name = randomUUID();
    return () => openDatabase(name);
  },
};

/** Opens the place as the next client does, returns what it finds, and runs `work`. */
async function visit(place: Place, work?: (store: MemoryStore) => Promise<unknown>) {
  const { store, close } = await place();
  try {
    const found = await store.load();
    await work?.(store);
    return found.map((record) => Array.from(record));
  } finally {
    await close();
  }
}

const recordOf = (...bytes: number[]): Bytes => new Uint8Array(bytes);

for (const [kind, createPlace] of Object.entries(places)) {
  test(`${kind}: the next client finds all records in their order`, async (t) => {
    const place = await createPlace();
    t.deepEqual(await visit(place, (store) => store.append(recordOf(1, 255))), []);
    await visit(place, async (store) => {
      await store.append(recordOf(2));
      await store.append(recordOf(3));
    });
    t.deepEqual(await visit(place), [[1, 255], [2], [3]]);
  });

  test(`${kind}: one record takes the place of all, and others follow it`, async (t) => {
    const place = await createPlace();
    await visit(place, (store) => store.append(recordOf(1)));
    await visit(place, async (store) => {
      await store.append(recordOf(2));
      await store.replace(recordOf(3));
      await store.append(recordOf(4));
    });
    t.deepEqual(await visit(place), [[3], [4]]);
  });

  test(`${kind}: two clients never hold one store`, async (t) => {
    const place = await createPlace();
    const { close } = await place();
    await t.throwsAsync(place(), { code: 'store_in_use' });
    await close();
    t.deepEqual(await visit(place), []);
  });
}

test('file: nobody else on the machine may read it', async (t) => {
  const path = await temporaryPath();
  await visit(
    () => openFile(path),
    (store) => store.append(recordOf(1)),
  );
  t.is((await stat(path)).mode & 0o777, 0o600);
  await visit(
    () => openFile(path),
    (store) => store.replace(recordOf(2)),
  );
  t.is((await stat(path)).mode & 0o777, 0o600);
});

test('file: a crash while a record is written leaves the records before it', async (t) => {
  const path = await temporaryPath();
  await visit(
    () => openFile(path),
    (store) => store.append(recordOf(1)),
  );
  const before = (await readFile(path)).length;
  await visit(
    () => openFile(path),
    (store) => store.append(recordOf(2, 2, 2)),
  );
  const whole = await readFile(path);
  for (let length = before; length < whole.length; length += 1) {
    await writeFile(path, whole.subarray(0, length));
    t.deepEqual(
      await visit(
        () => openFile(path),
        (store) => store.append(recordOf(3)),
      ),
      [[1]],
    );
    t.deepEqual(await visit(() => openFile(path)), [[1], [3]]);
  }
});

for (const text of ['no base64\n', 'AQ\n', 'AR==\n', 'A-==\n']) {
  test(`file: a damaged one is refused and left alone: ${JSON.stringify(text)}`, async (t) => {
    const path = await temporaryPath();
    await writeFile(path, text);
    await t.throwsAsync(
      visit(() => openFile(path)),
      { code: 'store_damaged' },
    );
    t.is(await readFile(path, 'utf8'), text);
  });
}

test('IndexedDB: a damaged store is refused', async (t) => {
  const name = randomUUID();
  await visit(() => openDatabase(name));
  const database = await openDB(name);
  await database.add('records', 'text');
  database.close();
  await t.throwsAsync(
    visit(() => openDatabase(name)),
    { code: 'store_damaged' },
  );
});

test('IndexedDB: a forgotten store is empty', async (t) => {
  const name = randomUUID();
  await visit(
    () => openDatabase(name),
    (store) => store.append(recordOf(1)),
  );
  await forgetMemoryDatabase(name);
  t.deepEqual(await visit(() => openDatabase(name)), []);
});
