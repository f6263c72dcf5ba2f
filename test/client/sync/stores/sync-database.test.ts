import 'fake-indexeddb/auto';
import { randomUUID } from 'node:crypto';
import { randomBytes } from '@noble/hashes/utils.js';
import test from 'ava';
import { forceCloseDatabase } from 'fake-indexeddb';
import { deleteDB, openDB } from 'idb';
import { until } from '../../../../app/dev/processes/until.ts';
import {
  forgetSyncDatabase,
  openSyncDatabase,
  type SyncDatabaseOptions,
} from '../../../../client/browser/sync-database.ts';
import type { StoredObject } from '../../../../client/sync/stores/stored-object.ts';
import { failSecondPut, faults, watchTransactions } from './faulty-indexeddb.ts';
import { objectOf } from './stored-objects.ts';

// Tests that change the browser's globals are serial and run before all others.

const createPlace = () => ({ name: randomUUID(), masterKey: randomBytes(32) });

const saving = (...objects: StoredObject[]) => ({ objects, forgotten: [] });

async function load(place: SyncDatabaseOptions): Promise<readonly StoredObject[]> {
  const store = await openSyncDatabase(place);
  try {
    return (await store.load()).objects;
  } finally {
    store.close();
  }
}

/** Opens a store that has saved these objects. */
async function openWith(place: SyncDatabaseOptions, ...objects: StoredObject[]) {
  const store = await openSyncDatabase(place);
  await store.load();
  await store.save(saving(...objects));
  return store;
}

async function isLocked(name: string): Promise<boolean> {
  const { held } = await navigator.locks.query();
  return held.some((lock) => lock.name === `sync-database ${name}`);
}

for (const [fault, code] of [
  ['fullAtCommit', 'store_full'],
  ['fullAtRequest', 'store_full'],
  ['abort', 'store_unavailable'],
] as const) {
  test.serial(`a save that breaks halfway leaves nothing: ${fault}`, async (t) => {
    const place = createPlace();
    const [kept, lost, later] = [objectOf('kept'), objectOf('lost'), objectOf('later')];
    const store = await openWith(place, kept);
    failSecondPut(faults[fault]);
    const changes = { ...saving(objectOf('newer', kept.objectId), lost), cursor: '9' };
    await t.throwsAsync(store.save(changes), { code });
    t.deepEqual(await store.load(), { objects: [kept], cursor: undefined });
    await store.save(saving(later));
    store.close();
    t.deepEqual(await load(place), [kept, later]);
  });
}

test.serial('a save resolves only once the browser reports the data on disk', async (t) => {
  const begun = await watchTransactions(async () => {
    const store = await openWith(createPlace(), objectOf('one'));
    store.close();
  });
  const writing = begun.filter(({ mode }) => mode === 'readwrite');
  t.true(writing.length >= 2);
  t.true(writing.every(({ durability }) => durability === 'strict'));
});

test.serial(
  'a store that the browser closed can be opened again with all saved objects',
  async (t) => {
    const place = createPlace();
    const one = objectOf('one');
    const store = await openWith(place, one);
    const begun = await watchTransactions(() => store.load());
    for (const { database } of begun) forceCloseDatabase(database);
    await t.throwsAsync(store.save(saving(objectOf('two'))), { code: 'store_closed' });
    t.deepEqual(await load(place), [one]);
  },
);

test.serial('without Web Locks the last client has the store, and no other can save', async (t) => {
  const locks = Object.getOwnPropertyDescriptor(Navigator.prototype, 'locks') ?? {};
  Object.defineProperty(Navigator.prototype, 'locks', { value: undefined, configurable: true });
  try {
    const place = createPlace();
    const [one, two, lost] = [objectOf('one'), objectOf('two'), objectOf('lost')];
    const first = await openWith(place, one);
    const second = await openSyncDatabase(place);
    await t.throwsAsync(first.save(saving(lost)), { code: 'store_in_use' });
    await t.throwsAsync(first.load(), { code: 'store_in_use' });
    first.close();
    t.deepEqual((await second.load()).objects, [one]);
    await second.save(saving(two));
    second.close();
    t.deepEqual(await load(place), [one, two]);
  } finally {
    Object.defineProperty(Navigator.prototype, 'locks', locks);
  }
});

test.serial('a missing IndexedDB and a store in use are different errors', async (t) => {
  const found = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB') ?? {};
  Reflect.deleteProperty(globalThis, 'indexedDB');
  try {
    await t.throwsAsync(openSyncDatabase(createPlace()), { code: 'store_unavailable' });
    await t.throwsAsync(forgetSyncDatabase('any'), { code: 'store_unavailable' });
  } finally {
    Object.defineProperty(globalThis, 'indexedDB', found);
  }
});

test('a save with a value that cannot be stored leaves nothing of it', async (t) => {
  const place = createPlace();
  const store = await openWith(place);
  const odd = {
    ...objectOf('odd'),
    server: { version: 1, data: { odd: () => {} }, statements: {} },
  };
  await t.throwsAsync(store.save(saving(objectOf('lost'), odd, objectOf('lost'))), {
    code: 'store_unavailable',
  });
  t.deepEqual((await store.load()).objects, []);
  store.close();
});

test('two tabs never hold one store: the second waits, or is refused in time', async (t) => {
  const place = createPlace();
  const [one, two] = [objectOf('one'), objectOf('two')];
  const first = await openWith(place, one);
  const patience = new AbortController();
  const { signal } = patience;
  const refused = t.throwsAsync(openSyncDatabase({ ...place, signal }), { code: 'store_in_use' });
  await first.save(saving());
  patience.abort();
  await refused;
  const waiting = openSyncDatabase(place);
  await first.save(saving(two));
  first.close();
  await t.throwsAsync(first.save(saving(objectOf('lost'))), { code: 'store_closed' });
  const second = await waiting;
  t.deepEqual((await second.load()).objects, [one, two]);
  second.close();
});

test('a client that stole the lock has the store to itself', async (t) => {
  const place = createPlace();
  const one = objectOf('one');
  const first = await openWith(place, one);
  await navigator.locks.request(`sync-database ${place.name}`, { steal: true }, () => {});
  const second = await openSyncDatabase(place);
  await t.throwsAsync(first.save(saving(objectOf('lost'))), { code: 'store_in_use' });
  first.close();
  t.deepEqual((await second.load()).objects, [one]);
  second.close();
});

test('the store of another user is refused and left alone, and free for its own', async (t) => {
  const place = createPlace();
  const one = objectOf('one');
  (await openWith(place, one)).close();
  const foreign = { ...place, masterKey: randomBytes(32) };
  await t.throwsAsync(openSyncDatabase(foreign), { code: 'store_of_another_user' });
  t.deepEqual(await load(place), [one]);
  t.deepEqual(await load({ ...foreign, name: randomUUID() }), []);
});

test('after a rekey the store opens by the new master key only', async (t) => {
  const { name, masterKey } = createPlace();
  const one = objectOf('one');
  (await openWith({ name, masterKey }, one)).close();
  const renewed = { name, masterKey: randomBytes(32) };
  t.deepEqual(await load({ ...renewed, earlierKeys: [randomBytes(32), masterKey] }), [one]);
  t.deepEqual(await load(renewed), [one]);
  await t.throwsAsync(load({ name, masterKey }), { code: 'store_of_another_user' });
});

test('a store gives way to a newer format version, with all saved objects', async (t) => {
  const place = createPlace();
  const one = objectOf('one');
  const store = await openWith(place, one);
  const newer = await openDB(place.name, 2);
  await t.throwsAsync(store.save(saving(objectOf('lost'))), { code: 'store_newer' });
  t.deepEqual(await newer.getAll('objects'), [{ ordinal: 0, object: one }]);
  newer.close();
  await t.throwsAsync(openSyncDatabase(place), { code: 'store_newer' });
});

test('a forgotten store is gone, and a client that had it open can save no more', async (t) => {
  const place = createPlace();
  const store = await openWith(place, objectOf('one'));
  await forgetSyncDatabase(place.name);
  await t.throwsAsync(store.save(saving(objectOf('two'))), { code: 'store_deleted' });
  t.deepEqual(await load({ ...place, masterKey: randomBytes(32) }), []);
  await forgetSyncDatabase(place.name);
  await forgetSyncDatabase(place.name);
});

test('a save that has begun completes before a newer format version takes over', async (t) => {
  const place = createPlace();
  const store = await openWith(place);
  const one = objectOf('one');
  const saved = store.save(saving(one));
  const newer = await openDB(place.name, 2);
  await saved;
  t.deepEqual(await newer.getAll('objects'), [{ ordinal: 0, object: one }]);
  newer.close();
});

test('a tab that keeps the database open is reported, and deletion follows later', async (t) => {
  const place = createPlace();
  const store = await openWith(place, objectOf('one'));
  store.close();
  const obstinate = await openDB(place.name);
  const patience = new AbortController();
  const { signal } = patience;
  const code = 'store_blocked';
  const unforgotten = t.throwsAsync(forgetSyncDatabase(place.name, signal), { code });
  const unopened = t.throwsAsync(openSyncDatabase({ ...place, signal }), { code });
  await until(() => isLocked(place.name), { what: 'the lock', timeoutMs: 60_000 });
  patience.abort();
  await Promise.all([unforgotten, unopened]);
  t.is((await obstinate.getAll('objects')).length, 1);
  obstinate.close();
  t.deepEqual(await load(place), []);
  await deleteDB(place.name);
});

test('a damaged store is refused and left alone, since it may hold changes', async (t) => {
  for (const damage of [
    { ordinal: 0, object: { objectId: 'none' } },
    { object: objectOf('x') },
    1,
  ]) {
    const place = createPlace();
    (await openWith(place)).close();
    const raw = await openDB(place.name);
    await raw.put('objects', damage, randomUUID());
    await t.throwsAsync(load(place), { code: 'store_damaged' });
    t.deepEqual(await raw.getAll('objects'), [damage]);
    raw.close();
  }
});

test('a database of another application is refused and left alone', async (t) => {
  const place = createPlace();
  const other = await openDB(place.name, 1, {
    upgrade: (database) => void database.createObjectStore('theirs'),
  });
  await t.throwsAsync(openSyncDatabase(place), { code: 'store_damaged' });
  t.deepEqual([...other.objectStoreNames], ['theirs']);
  other.close();
});
