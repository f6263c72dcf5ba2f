import 'fake-indexeddb/auto';
import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSyncDatabase } from '../../../../client/browser/sync-database.ts';
import { openSyncFile } from '../../../../client/node/sync-file.ts';
import { createInMemoryStore } from '../../../../client/sync/stores/in-memory-store.ts';
import type { SavedChanges, SavedState, SyncStore } from '../../../../client/sync/stores/store.ts';
import type { StoredObject } from '../../../../client/sync/stores/stored-object.ts';
import { objectOf } from './stored-objects.ts';

/** A place that holds a store; each client opens it and closes it again. */
type Place = () => Promise<{ store: SyncStore; close(): void | Promise<void> }>;

const places: Record<string, () => Promise<Place>> = {
  async memory() {
    const store = createInMemoryStore();
    return async () => ({ store, close() {} });
  },
  async file() {
    const path = join(await mkdtemp(join(tmpdir(), 'sync-')), 'objects');
    return async () => {
      const store = await openSyncFile(path);
      return { store, close: async () => store[Symbol.asyncDispose]() };
    };
  },
  async IndexedDB() {
    const options = { name: randomUUID(), masterKey: new Uint8Array(32) };
    return async () => {
      const store = await openSyncDatabase(options);
      return { store, close: () => store.close() };
    };
  },
};

/** Opens the place as the next client does, returns what it finds, and saves changes. */
async function visit(place: Place, ...all: SavedChanges[]): Promise<SavedState> {
  const { store, close } = await place();
  try {
    const found = await store.load();
    for (const changes of all) await store.save(changes);
    return found;
  } finally {
    await close();
  }
}

const nothing = { objects: [], forgotten: [] };

for (const [kind, createPlace] of Object.entries(places)) {
  test(`${kind}: the next client finds saved objects, and no forgotten ones`, async (t) => {
    const place = await createPlace();
    const [one, other] = [objectOf('one'), objectOf('other')];
    const first = { objects: [one, other], forgotten: [], cursor: '7' };
    t.deepEqual(await visit(place, first), { objects: [], cursor: undefined });
    const newer = objectOf('newer', one.objectId);
    const second = { objects: [newer], forgotten: [other.objectId] };
    t.deepEqual(await visit(place, second), { objects: [one, other], cursor: '7' });
    t.deepEqual(await visit(place), { objects: [newer], cursor: '7' });
  });

  test(`${kind}: the cursor stays until it is replaced, and null removes it`, async (t) => {
    const place = await createPlace();
    await visit(place, { ...nothing, cursor: '7' }, nothing);
    t.is((await visit(place, { ...nothing, cursor: '8' })).cursor, '7');
    t.is((await visit(place, { ...nothing, cursor: null })).cursor, '8');
    t.is((await visit(place)).cursor, undefined);
  });

  test(`${kind}: objects keep their order of arrival across clients`, async (t) => {
    const place = await createPlace();
    const [first, second] = [objectOf('first'), objectOf('second')];
    const others = Array.from({ length: 20 }, (_, n) => objectOf(`${n}`));
    const saving = (...objects: StoredObject[]) => ({ objects, forgotten: [] });
    const forgetting = (object: StoredObject) => ({ objects: [], forgotten: [object.objectId] });
    await visit(place, saving(first, second, ...others.slice(0, 10)), forgetting(first));
    await visit(place, saving(...others.slice(10), objectOf('changed', others[3]?.objectId)));
    await visit(place, forgetting(second), saving(second), saving(first));
    const ids = (await visit(place)).objects.map(({ objectId }) => objectId);
    t.deepEqual(
      ids,
      [...others, second, first].map(({ objectId }) => objectId),
    );
  });

  test(`${kind}: an object comes back with its whole queue, as it was saved`, async (t) => {
    const place = await createPlace();
    const request = { id: randomUUID(), changedAt: 5 };
    const refusal = { code: 'data_too_large', message: 'Too large.' };
    const object: StoredObject = {
      objectId: randomUUID(),
      server: {
        version: 3,
        data: null,
        statements: {},
        lastModifiedAt: '2026-01-01T00:00:00.000Z',
      },
      queue: [
        {
          kind: 'create',
          data: { 'a b': [1, null, { '': 'é\u0000' }] },
          objectType: 'note',
          changedAt: 1,
        },
        { kind: 'change', baseVersion: 1, before: {}, delta: { a: null }, changedAt: 2, request },
        { kind: 'remove', baseVersion: 2, before: { a: {} }, changedAt: 3.5, refusal },
      ],
      lastChangedAt: 5,
    };
    await visit(place, { objects: [object], forgotten: [] });
    t.deepEqual((await visit(place)).objects, [object]);
  });
}
