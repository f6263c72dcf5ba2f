import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import type { Credentials } from '../../client/accounts/accounts.ts';
import { createDeviceKey } from '../../client/keys/device-key.ts';
import { createInMemoryStore } from '../../client/sync/stores/in-memory-store.ts';
import { createUser, dataOf, openDevice, set } from '../client/sync/devices.ts';
import { connect, createUser as createAccount } from '../support/client/user.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { runPython } from './python.ts';
import { addPythonDevice, rekeyByPython } from './python-client.ts';

const View = z.object({ version: z.int(), data: z.record(z.string(), z.unknown()) });
const Faults = z.array(z.string().nullable());

const vault = await startReadyVault();
test.after.always(() => vault.stop());

async function ask(input: object): Promise<unknown> {
  const { code, output, errors } = await runPython('sync_statement.py', [], JSON.stringify(input));
  if (code !== 0) throw new Error(errors);
  return JSON.parse(output);
}

test('the Python client believes what two devices wrote, and no mixture of it', async (t) => {
  const user = createUser();
  const [alice, bob] = [await openDevice(vault, user), await openDevice(vault, user)];
  const objectId = await alice.sync.create({ data: { a: { x: 1 }, b: 1 } });
  await alice.sync.sync();
  const states: z.output<typeof View>[] = [];
  const look = async () => View.parse((await alice.raw.get(`/v1/sync/${objectId}`)).body);
  states.push(await look());
  for (const [device, fields] of [
    [bob, { a: 'a leaf in place of an object' }],
    [alice, { b: [2], c: {} }],
    [bob, { a: { y: null }, b: 3 }],
  ] as const) {
    await device.sync.sync();
    await set(device.sync, objectId, fields);
    await device.sync.sync();
    states.push(await look());
  }
  const masterKey = Buffer.from(user.masterKey).toString('hex');
  const asked = { masterKey, objectId, publicFields: [] };
  const faults = Faults.parse(await ask({ ...asked, states }));
  t.deepEqual(
    faults,
    states.map(() => null),
  );

  const [first, , third, last] = states;
  const mixtures = [
    { ...last, data: { ...last?.data, b: third?.data['b'] } },
    { ...last, data: { ...first?.data, $devices: last?.data['$devices'] } },
    { ...last, version: 2 },
  ];
  const refused = Faults.parse(await ask({ ...asked, states: mixtures }));
  t.deepEqual(
    refused.map((fault) => typeof fault),
    mixtures.map(() => 'string'),
  );
});

test('the reference client reads and changes an object that the Python client made', async (t) => {
  const user = createUser();
  const device = await openDevice(vault, user);
  const objectId = randomUUID();
  const { deviceId } = device.raw;
  const masterKey = Buffer.from(user.masterKey).toString('hex');
  const fields = { title: 'Zürich', lines: [1, null] };
  const data = await ask({ masterKey, objectId, device: deviceId, fields });
  t.is((await device.raw.create({ objectId, data })).status, 201);
  await device.sync.sync();
  t.deepEqual(await dataOf(device.sync, objectId), fields);
  await set(device.sync, objectId, { title: 'Genf' });
  t.like(await device.sync.sync(), { sent: 1 });

  const other = await openDevice(vault, user);
  for (const [count, by] of [other.raw, device.raw, other.raw].entries()) {
    const shown = View.parse((await by.get(`/v1/sync/${objectId}`)).body);
    const change = ['title', `title ${count}`];
    const delta = await ask({ masterKey, objectId, device: by.deviceId, shown, change });
    const { version: baseVersion } = shown;
    const write = { objectId, baseVersion, version: baseVersion + 1, delta };
    t.is((await by.write(write)).status, 200);
    await device.sync.sync();
    t.like(await dataOf(device.sync, objectId), { title: `title ${count}` });
  }
  t.like(await other.sync.sync(), { received: 1 });
});

/** Opens the objects of a user on a device that has seen none of them. */
async function openObjects(user: Credentials, deviceId: string) {
  const session = await connect(vault).login({ ...user, deviceId });
  const keys = await session.envelopes.openMasterKeys();
  return session.sync({ ...keys, deviceId, schemaVersion: 1, store: createInMemoryStore() });
}

test('the TypeScript client believes the objects that a rekey of Python lists', async (t) => {
  const { session, credentials } = await createAccount(vault);
  const [laptop, phone] = [createDeviceKey(), createDeviceKey()];
  for (const device of [laptop, phone]) {
    await session.devices.add({ ...device, name: 'Laptop', platform: 'Firefox' });
  }
  const first = await openObjects(credentials, laptop.deviceId);
  const id = await first.create({ data: { title: 'Zürich' } });
  const removed = await first.create({ data: { title: 'Basel' } });
  await first.sync();
  const second = await openObjects(credentials, phone.deviceId);
  await second.sync();
  await set(second, id, { title: 'Genf' });
  await second.remove(removed);
  await second.sync();

  const { device } = await addPythonDevice(t, vault, credentials);
  let user = credentials;
  for (const generation of [2, 3]) {
    ({ user } = await rekeyByPython(t, vault, user, { device }));
    const fresh = await openObjects(user, laptop.deviceId);
    await fresh.sync();
    t.deepEqual(fresh.list(), [id], `generation ${generation}`);
    t.deepEqual(await dataOf(fresh, id), { title: 'Genf' });
  }
  const writer = await openObjects(user, phone.deviceId);
  await writer.sync();
  await set(writer, id, { title: 'Bern' });
  t.like(await writer.sync(), { sent: 1 });

  ({ user } = await rekeyByPython(t, vault, user, { device }));
  const listed = await openObjects(user, laptop.deviceId);
  await listed.sync();
  t.deepEqual(await dataOf(listed, id), { title: 'Bern' });
  ({ user } = await rekeyByPython(t, vault, user));
  const unlisted = await openObjects(user, laptop.deviceId);
  await t.throwsAsync(unlisted.sync(), { code: 'object_unlisted' });
});
