import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import type { MasterKeys } from '../../../client/keys/master-keys.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createLeafCipher } from '../../../client/sync/objects/leaf-encryption.ts';
import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import { makeStatement } from '../../../client/sync/statements/make-statement.ts';
import { createStatementEncryption } from '../../../client/sync/statements/statement-encryption.ts';
import {
  hashLeaves,
  splitStatements,
  withStatement,
} from '../../../client/sync/statements/statements-member.ts';
import { assertCaught, createVictim, rekey, type Victim } from '../liar.ts';
import { addDevice } from '../telling.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;
const oneObject = /^GET \/v1\/sync\/[^/]+$/;
const isPublic = () => false;

interface View {
  readonly version: number;
  readonly data: Record<string, unknown>;
}

test.beforeEach(async (t) => {
  t.context = { victim: await createVictim() };
});

type Device = Awaited<ReturnType<typeof addDevice>>;

async function openOn(session: VaultSession, deviceId: string, store = createInMemoryStore()) {
  const keys = await session.envelopes.openMasterKeys();
  return session.sync({ ...keys, deviceId, schemaVersion: 1, store });
}

async function openAgain(device: Device, store = createInMemoryStore()) {
  return openOn(await device.again(), device.deviceId, store);
}

async function look({ session, deviceId }: Device, id: string): Promise<View> {
  const headers = { 'x-device-id': deviceId };
  const { body } = await session.http.send({ method: 'GET', path: `/v1/sync/${id}`, headers });
  return body as View;
}

/** Creates an object with two versions on a device, and resolves with the first one too. */
async function createObject(device: Device) {
  const store = createInMemoryStore();
  const sync = await openOn(device.session, device.deviceId, store);
  const id = await sync.create({ data: { a: 'first', b: 'first' } });
  await sync.sync();
  const first = await look(device, id);
  await sync.change(id, (data) => ({ ...data, a: 'second' }));
  await sync.sync();
  return { id, first, store, second: await look(device, id) };
}

/** Makes the next version of an object with the master key and the name of a device. */
async function forgeNext(
  masterKeys: MasterKeys,
  device: string,
  id: string,
  { version, data: shown }: View,
): Promise<View> {
  const cipher = createLeafCipher(masterKeys);
  const encryption = createStatementEncryption(cipher);
  const { data, statements: sealed } = splitStatements(shown);
  const statements = await encryption.openAll(id, sealed);
  const leaves = hashLeaves(data, isPublic);
  const patch = { a: await cipher.seal(id, '/a', 'forged') };
  const count = (statements.get(device)?.count ?? 0) + 1;
  const write = { device, count, patch, baseVersion: version, isPublic };
  const leaf = await encryption.seal(
    id,
    device,
    makeStatement(write, { version, leaves, statements }),
  );
  const member = withStatement({}, device, { count, leaf, replaces: [] })['$devices'];
  const $devices = { ...sealed, ...(member as typeof sealed) };
  return { version: version + 1, data: { ...data, ...patch, $devices } };
}

/** Answers reads of the object with a state, whatever else the vault has. */
function show({ lie }: Victim, state: View): void {
  lie(oneObject, (body) => Object.assign(body, state));
}

/** Sets up an object that the device of the user's session lists at a rekey. */
async function listObject(t: ExecutionContext<{ readonly victim: Victim }>) {
  const { victim } = t.context;
  const device = await addDevice(victim);
  const earlier: MasterKeys = { masterKey: victim.masterKey.slice() };
  const made = await createObject(device);
  const bound = { ...victim, session: await device.again() };
  const keys = await rekey(bound);
  return { victim, device, earlier, made, keys };
}

test('the listed state of an object, to a device that has not seen it, is the truth', async (t) => {
  const { device, made } = await listObject(t);
  const sync = await openAgain(device);
  await sync.sync();
  t.deepEqual((await sync.get(made.id))?.data, { a: 'second', b: 'first' });
});

test('an object as it was before the state that the rekey lists', async (t) => {
  const { victim, device, made } = await listObject(t);
  show(victim, made.first);
  await assertCaught(t, (await openAgain(device)).sync(), 'rolled_back');
});

test('the next version of a listed object, made with an earlier master key', async (t) => {
  const { victim, device, earlier, made } = await listObject(t);
  show(victim, await forgeNext(earlier, device.deviceId, made.id, made.second));
  await assertCaught(t, (await openAgain(device)).sync(), 'object_unlisted');
});

test('a version by another device, made with an earlier master key', async (t) => {
  const { victim, device, earlier, made } = await listObject(t);
  show(victim, await forgeNext(earlier, crypto.randomUUID(), made.id, made.second));
  await assertCaught(t, (await openAgain(device)).sync(), 'object_unlisted');
});

test('a leaf of an earlier master key beside a present statement', async (t) => {
  const { victim, device, earlier, made } = await listObject(t);
  const sync = await openAgain(device);
  await sync.sync();
  await sync.change(made.id, (data) => ({ ...data, b: 'third' }));
  await sync.sync();
  const third = await look({ ...device, session: await device.again() }, made.id);
  const a = await createLeafCipher(earlier).seal(made.id, '/a', 'forged');
  show(victim, { ...third, data: { ...third.data, a } });
  await assertCaught(t, (await openAgain(device)).sync(), 'rolled_back');
});

test('an object that nobody listed, made with an earlier master key', async (t) => {
  const { victim, device, earlier } = await listObject(t);
  const sync = await openAgain(device);
  const id = await sync.create({ data: { a: 'true' } });
  await sync.sync();
  const cipher = createLeafCipher(earlier);
  const data = {
    $type: await cipher.seal(id, '/$type', null),
    a: await cipher.seal(id, '/a', 'forged'),
  };
  const write = { device: device.deviceId, count: 1, patch: data, baseVersion: 0, isPublic };
  const leaf = await createStatementEncryption(cipher).seal(
    id,
    device.deviceId,
    makeStatement(write, undefined),
  );
  const state = withStatement(data, device.deviceId, { count: 1, leaf, replaces: [] });
  victim.lie(new RegExp(`^GET /v1/sync/${id}$`), (body) =>
    Object.assign(body, { version: 1, data: state }),
  );
  await assertCaught(t, (await openAgain(device)).sync(), 'object_unlisted');
});

test('an object at a rekey, older than the device has seen it', async (t) => {
  const { victim } = t.context;
  const device = await addDevice(victim);
  const { id, first, store } = await createObject(device);
  const session = await device.again();
  await (await openOn(session, device.deviceId, store)).sync();
  show(victim, first);
  await assertCaught(t, rekey({ ...victim, session }), 'rolled_back');
  t.is((await session.envelopes.openMasterKeys()).earlierKeys?.length ?? 0, 0, 'nothing changed');
  victim.lie(new RegExp(`^GET /v1/sync/${id}$`), (body) => {
    const { $devices, ...data } = body['data'] as Record<string, unknown>;
    t.truthy($devices);
    return Object.assign(body, { data });
  });
  await assertCaught(t, rekey({ ...victim, session }), 'rolled_back');
});

test('an object that nobody listed, at the next rekey', async (t) => {
  const { victim, device, earlier, made } = await listObject(t);
  show(victim, await forgeNext(earlier, device.deviceId, made.id, made.second));
  const session = await device.again();
  const { password } = victim.credentials;
  const draft = await session.draftRekey({ password, keepPassword: true });
  const leftOut = await draft.confirm(draft.words);
  t.deepEqual(leftOut, [{ subject: 'object', id: made.id, code: 'object_unlisted' }]);
});

test('a rekey in a session of no device lists no object, until a device confirms it', async (t) => {
  const { victim } = t.context;
  const [laptop, phone] = [await addDevice(victim), await addDevice(victim)];
  const { id, store } = await createObject(laptop);
  await rekey(victim);
  const onPhone = createInMemoryStore();
  await assertCaught(t, (await openAgain(phone, onPhone)).sync(), 'object_unlisted');
  const known = await openAgain(laptop, store);
  t.like(await known.sync(), { sent: 1 }, 'the device confirms what it knows');
  t.like(await known.sync(), { sent: 0 });
  const sync = await openAgain(phone, onPhone);
  await sync.sync();
  t.deepEqual((await sync.get(id))?.data, { a: 'second', b: 'first' });
});
