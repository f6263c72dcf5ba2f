import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { dataOf, set } from '../../client/sync/devices.ts';
import { assertCaught } from '../liar.ts';
import {
  createScene,
  oneObject,
  openReader,
  versionOf,
  type Lie,
  type Reader,
  type Scene,
} from './scene.ts';

const test = anyTest as TestFn<Scene>;
const aWrite = /^POST \/v1\/sync$/;

test.beforeEach(async (t) => {
  t.context = await createScene();
});

/** Returns a lie that names a version of an object in the next list with changes. */
function listOnce(objectId: string, version: number): Lie {
  let isTold = false;
  return (body) => {
    if (isTold || body.objects.length === 0) return body;
    isTold = true;
    const item = { objectId, version, lastModifiedAt: new Date(0).toISOString() };
    return { ...body, objects: [item] };
  };
}

/** Opens a device that has read the present state, then lets the vault have something new. */
async function openRemembering(t: ExecutionContext<Scene>): Promise<Reader> {
  const { user, alice, id } = t.context;
  const reader = await openReader(user);
  await reader.sync.sync();
  await set(alice, id, { b: 'fifth' });
  await alice.sync();
  return reader;
}

async function assertNothingChanged(t: ExecutionContext<Scene>, { sync }: Reader): Promise<void> {
  const { id } = t.context;
  t.deepEqual(await dataOf(sync, id), { a: 'fourth', b: 'third', c: 'fourth' });
}

for (const [lie, version] of [
  ['an older state', undefined],
  ['an older state under the number of the newest', 5],
  ['another state under the number that it knows', 4],
] as const) {
  test(`${lie}, to a device that remembers`, async (t) => {
    const reader = await openRemembering(t);
    const old = versionOf(t.context, 3);
    reader.lie(oneObject, () => ({ ...old, version: version ?? old.version }));
    await assertCaught(t, reader.sync.sync(), 'rolled_back');
    await assertNothingChanged(t, reader);
  });
}

test('an object that was deleted, shown again', async (t) => {
  const { alice, id, versions } = t.context;
  const reader = await openRemembering(t);
  await alice.remove(id);
  await alice.sync();
  await reader.sync.sync();
  t.is(await reader.sync.get(id), undefined);
  const [, , , last] = versions;
  await alice.create({ data: {} });
  await alice.sync();
  reader.lie(/^GET \/v1\/sync$/, listOnce(id, 7));
  reader.lie(oneObject, () => ({ ...last, version: 7 }));
  await assertCaught(t, reader.sync.sync(), 'rolled_back');
  t.is(await reader.sync.get(id), undefined);
});

test('a cursor turned back', async (t) => {
  const reader = await openRemembering(t);
  reader.lie(/^GET \/v1\/sync$/, () => ({ objects: [], nextCursor: '1' }));
  await assertCaught(t, reader.sync.sync(), 'rolled_back');
  await assertNothingChanged(t, reader);
});

test('a write that the vault says it applied, and dropped', async (t) => {
  const { id } = t.context;
  const reader = await openRemembering(t);
  await reader.sync.sync();
  await set(reader.sync, id, { a: 'mine' });
  const old = versionOf(t.context, 4);
  reader.lie(aWrite, (body) => ({ ...body, data: old.data }));
  await assertCaught(t, reader.sync.sync(), 'rolled_back');
  t.is(reader.sync.pending().length, 1, 'the write is not taken for done');
  t.like(await dataOf(reader.sync, id), { a: 'mine' });
});

test('a conflict with an older state', async (t) => {
  const { id } = t.context;
  const reader = await openRemembering(t);
  await reader.sync.sync();
  await set(reader.sync, id, { a: 'mine' });
  const conflict = { statusCode: 409, code: 'sync_conflict', status: 'CONFLICT', message: 'no' };
  const old = versionOf(t.context, 3);
  reader.lie(aWrite, () => ({
    ...conflict,
    conflictType: 'CONCURRENT_MODIFICATION',
    fields: ['/a'],
    serverVersion: 9,
    serverData: old.data,
  }));
  await assertCaught(t, reader.sync.sync(), 'rolled_back');
  t.like(await dataOf(reader.sync, id), { a: 'mine', b: 'fifth' });
});

test('a vault that says it has not reached the version of a write', async (t) => {
  const { id } = t.context;
  const reader = await openRemembering(t);
  await reader.sync.sync();
  await set(reader.sync, id, { a: 'mine' });
  const conflict = { statusCode: 409, code: 'sync_conflict', status: 'CONFLICT', message: 'no' };
  const old = versionOf(t.context, 3);
  const ahead = { conflictType: 'VERSION_AHEAD', fields: [], serverVersion: 3 };
  reader.lie(aWrite, () => ({ ...conflict, ...ahead, serverData: old.data }));
  reader.lie(oneObject, () => old);
  await assertCaught(t, reader.sync.sync(), 'rolled_back');
  t.like(await dataOf(reader.sync, id), { a: 'mine', b: 'fifth' });
});

test('an export of mixed leaves', async (t) => {
  const { id } = t.context;
  const reader = await openRemembering(t);
  await reader.sync.sync();
  const { a } = versionOf(t.context, 2).data;
  reader.lie(/\/export$/, (body) => ({ ...body, data: { ...body.data, a } }));
  await assertCaught(t, reader.sync.export(id), 'rolled_back');
});

test('an older state that the user accepts is accepted in that run alone', async (t) => {
  const { alice, id } = t.context;
  const reader = await openRemembering(t);
  await reader.sync.sync();
  const shown = [versionOf(t.context, 3), versionOf(t.context, 3), versionOf(t.context, 2)];
  reader.lie(oneObject, () => shown.shift());
  await alice.create({ data: {} });
  await alice.sync();
  reader.lie(/^GET \/v1\/sync$/, listOnce(id, 3));
  await assertCaught(t, reader.sync.sync(), 'rolled_back');
  t.like(await dataOf(reader.sync, id), { b: 'fifth' });
  reader.lie(/^GET \/v1\/sync$/, listOnce(id, 3));
  t.like(await reader.sync.sync({ acceptRestored: true }), { restored: 1 });
  t.deepEqual(await dataOf(reader.sync, id), { a: 'second', b: 'third' });
  await set(alice, id, { b: 'sixth' });
  await alice.sync();
  await assertCaught(t, reader.sync.sync(), 'rolled_back');
  t.deepEqual(await dataOf(reader.sync, id), { a: 'second', b: 'third' });
});

test('an object that is refused keeps no other from being read and written', async (t) => {
  const { alice, id } = t.context;
  const reader = await openRemembering(t);
  const other = await alice.create({ data: { a: 'other' } });
  await alice.sync();
  const mine = await reader.sync.create({ data: { a: 'mine' } });
  reader.lie(new RegExp(`^GET /v1/sync/${id}$`), () => versionOf(t.context, 2));
  await assertCaught(t, reader.sync.sync(), 'rolled_back');
  t.deepEqual(await dataOf(reader.sync, other), { a: 'other' });
  await alice.sync();
  t.deepEqual(await dataOf(alice, mine), { a: 'mine' });
  await assertCaught(t, reader.sync.sync(), 'rolled_back');
  await assertNothingChanged(t, reader);
});
