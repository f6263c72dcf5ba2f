import anyTest, { type TestFn } from 'ava';
import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import type { SyncStore } from '../../../client/sync/stores/store.ts';
import { assertCaught, createVictim, type Victim } from '../liar.ts';
import { addDevice, assertRolledBack } from '../telling.ts';

type Device = Awaited<ReturnType<typeof addDevice>>;

interface Scene {
  readonly victim: Victim;
  readonly laptop: Device;
  readonly id: string;
  /** The first version of the object, which the vault shows again. */
  readonly first: object;
}

const test = anyTest as TestFn<Scene>;
const oneObject = /^GET \/v1\/sync\/[^/]+$/;

async function openOn({ session, deviceId }: Device, store: SyncStore = createInMemoryStore()) {
  const keys = await session.envelopes.openMasterKeys();
  return session.sync({ ...keys, deviceId, schemaVersion: 1, store });
}

/** Opens a device that has no objects yet, and reads what the others told. */
async function openNew(victim: Victim) {
  const device = await addDevice(victim);
  const bound = { ...device, session: await device.again() };
  return { ...bound, sync: await openOn(bound) };
}

test.beforeEach(async (t) => {
  const victim = await createVictim();
  const laptop = await addDevice(victim);
  const sync = await openOn(laptop);
  const id = await sync.create({ data: { a: 'first' } });
  await sync.sync();
  const headers = { 'x-device-id': laptop.deviceId };
  const path = `/v1/sync/${id}`;
  const { body } = await laptop.session.http.send({ method: 'GET', path, headers });
  await sync.change(id, () => ({ a: 'second' }));
  await sync.sync();
  await laptop.session.memory.exchange();
  t.context = { victim, laptop, id, first: body as object };
});

test('an older state than another device has told', async (t) => {
  const { victim, laptop, id, first } = t.context;
  victim.lie(oneObject, (body) => Object.assign(body, first));
  const { sync } = await openNew(victim);
  const error = await assertRolledBack(t, sync.sync());
  t.like(error, { subject: 'object', id, toldBy: laptop.deviceId });
  t.is(await sync.get(id), undefined);
});

test('an object that another device told was deleted', async (t) => {
  const { victim, laptop, id, first } = t.context;
  const sync = await openOn(laptop);
  await sync.sync();
  await sync.remove(id);
  await sync.sync();
  await laptop.session.memory.exchange();
  const item = { objectId: id, version: 3, lastModifiedAt: new Date().toISOString() };
  victim.lie(/^GET \/v1\/sync$/, (body) => {
    const objects = (body as Record<string, unknown>)['objects'] as readonly unknown[];
    return Object.assign(body, { objects: objects.length === 0 ? [] : [item] });
  });
  await sync.create({ data: {} });
  await sync.sync();
  victim.lie(new RegExp(`^GET /v1/sync/${id}$`), (body) => Object.assign(body, first));
  const fresh = await openNew(victim);
  const error = await assertRolledBack(t, fresh.sync.sync());
  t.like(error, { remembered: 'deleted', toldBy: laptop.deviceId });
});

test('an older state that the user accepts reaches devices that know no newer one', async (t) => {
  const { victim, id, first } = t.context;
  victim.lie(oneObject, (body) => Object.assign(body, first));
  const phone = await openNew(victim);
  await assertCaught(t, phone.sync.sync(), 'rolled_back');
  t.like(await phone.sync.sync({ acceptRestored: true }), { restored: 1 });
  t.deepEqual((await phone.sync.get(id))?.data, { a: 'first' });
  await phone.session.memory.exchange();
  const tablet = await openNew(victim);
  await tablet.sync.sync();
  t.deepEqual((await tablet.sync.get(id))?.data, { a: 'first' });
});

test('what a revoked device told of objects counts for nothing', async (t) => {
  const { victim, laptop, id, first } = t.context;
  const phone = await openNew(victim);
  await phone.session.memory.revokedDevice(laptop.deviceId);
  victim.lie(oneObject, (body) => Object.assign(body, first));
  await phone.sync.sync();
  t.deepEqual((await phone.sync.get(id))?.data, { a: 'first' });
});
