import { randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { decodeBase64, encodeBase64 } from '../../client/bytes/base64.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import { openDocument } from '../../client/documents/open-document.ts';
import { createIdentities } from '../../client/identity/identities.ts';
import { createDeviceKey } from '../../client/keys/device-key.ts';
import type { MasterKeys } from '../../client/keys/master-keys.ts';
import { sealReport } from '../../client/memory/exchange/report.ts';
import { changesOf, type RememberedChanges } from '../../client/memory/values/remembered.ts';
import { deriveReportKey } from '../../client/memory/exchange/report-key.ts';
import { RolledBackError } from '../../client/memory/values/rolled-back-error.ts';
import type { VaultSession } from '../../client/session.ts';
import { createTestMemory } from '../support/client/memory-store.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { createVictim, logInWith, rekey, type Victim } from './liar.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;

const oneDocument = /^GET .*\/documents\/[^/]+$/;
const records = /^GET .*\/memory\/records$/;

test.beforeEach(async (t) => {
  t.context = { victim: await createVictim() };
});

interface Item {
  readonly writer: string;
  readonly number: number;
  readonly record: string;
}

/** Logs in on a new device of the victim. */
async function addDevice(victim: Victim) {
  const store = createTestMemory();
  const session = await logInWith(victim, store);
  const key = createDeviceKey();
  await session.devices.add({ ...key, name: 'Laptop', platform: 'Firefox' });
  const { deviceId } = key;
  const { credentials, client } = victim;
  const again = () => client.login({ ...credentials, memory: store, deviceId });
  return { session, deviceId, again };
}

async function open(session: VaultSession, id: string) {
  const keys = await session.envelopes.openMasterKeys();
  return openDocument(toolsOf(session), { id, ...keys });
}

const openVersion = async (session: VaultSession, id: string) => (await open(session, id)).version;

async function addNext(session: VaultSession, id: string): Promise<void> {
  const keys = await session.envelopes.openMasterKeys();
  await addVersion(toolsOf(session), { id, ...keys, source: sourceOf(new Uint8Array(20)) });
}

/** Stores a document of two versions, of which one device has told the second. */
async function storeTold(victim: Victim) {
  const { document: first } = await storeBytes(victim, 10);
  const { id } = first;
  await addNext(victim.session, id);
  const teller = await addDevice(victim);
  await open(teller.session, id);
  await teller.session.memory.exchange();
  return { id, first, teller };
}

async function assertRolledBack(t: ExecutionContext, work: Promise<unknown>) {
  const error = await t.throwsAsync(work, { instanceOf: RolledBackError, code: 'rolled_back' });
  return error instanceof RolledBackError ? error : t.fail();
}

/** Tells something in the name of a device, with the keys that somebody has. */
async function forge(
  { session }: Victim,
  keys: MasterKeys,
  { writer, values }: { readonly writer: string; readonly values: Partial<RememberedChanges> },
): Promise<Item> {
  const openKeyring = () => session.envelopes.openKeyring();
  const [identity] = await createIdentities({ http: session.http, openKeyring }).openAll();
  if (identity === undefined) throw new Error('The victim has no identity.');
  const place = { writer, number: 1 };
  const report = { ...changesOf(values), previous: null, isStart: true, read: {} };
  const record = await sealReport(await deriveReportKey(keys), identity, place, report);
  return { ...place, record: encodeBase64(record) };
}

async function firstRecord({ session }: Victim): Promise<Item> {
  const { body } = await session.http.send({ method: 'GET', path: '/v1/memory/records' });
  const [item] = body as Item[];
  if (item === undefined) throw new Error('There is no record.');
  return item;
}

const post = ({ session }: Victim, json: Item) =>
  session.http.send({ method: 'POST', path: '/v1/memory/records', json });

test('an earlier version, to a device that only knows from another one', async (t) => {
  const { victim } = t.context;
  const { id, first, teller } = await storeTold(victim);
  const other = await addDevice(victim);
  const bystander = await victim.client.login(victim.credentials);
  victim.lie(oneDocument, () => first);
  for (const session of [other.session, bystander]) {
    const error = await assertRolledBack(t, open(session, id));
    t.is(error.toldBy, teller.deviceId);
    t.regex(error.remembered, /^version 2, change 0/);
  }
  victim.tellTruth();
  t.is(await openVersion(other.session, id), 2);
});

test('what a session saw is told when it ends', async (t) => {
  const { victim } = t.context;
  const { document: first } = await storeBytes(victim, 10);
  await addNext(victim.session, first.id);
  const { session } = await addDevice(victim);
  await open(session, first.id);
  await session.logout();
  victim.lie(oneDocument, () => first);
  await assertRolledBack(t, open((await addDevice(victim)).session, first.id));
});

test('what a device could not tell, it tells the next time', async (t) => {
  const { victim } = t.context;
  const { document: first } = await storeBytes(victim, 10);
  await addNext(victim.session, first.id);
  const { session, again } = await addDevice(victim);
  await open(session, first.id);
  await (await again()).memory.exchange();
  victim.lie(oneDocument, () => first);
  await assertRolledBack(t, open((await addDevice(victim)).session, first.id));
});

test('all reports withheld, from a device that has read none, is not noticed', async (t) => {
  const { victim } = t.context;
  const { id, first } = await storeTold(victim);
  victim.lie(records, () => []);
  victim.lie(oneDocument, () => first);
  t.is(await openVersion((await addDevice(victim)).session, id), 1);
});

test('the report of one device withheld, beside that of a device that has read it', async (t) => {
  const { victim } = t.context;
  const { id, teller } = await storeTold(victim);
  const reader = await addDevice(victim);
  await storeBytes({ ...victim, session: reader.session }, 10);
  await reader.session.memory.exchange();
  victim.lie(records, (items) => items.filter((item) => item['writer'] !== teller.deviceId));
  const error = await assertRolledBack(t, open((await addDevice(victim)).session, id));
  t.is(error.subject, 'memory');
  t.is(error.id, teller.deviceId);
});

const changes: Readonly<Record<string, (items: Item[], stranger: Item) => Item[]>> = {
  'a report whose bytes were changed': (items) =>
    items.map((item) => {
      const bytes = decodeBase64(item.record);
      bytes[40] = (bytes[40] ?? 0) ^ 1;
      return { ...item, record: encodeBase64(bytes) };
    }),
  'a report under another number': (items) =>
    items.map((item) => ({ ...item, number: item.number + 1 })),
  'a report in the name of another device': (items) =>
    items.map((item) => ({ ...item, writer: randomUUID() })),
  'a report of another user': (items, stranger) =>
    items.map((item) => ({ ...item, record: stranger.record })),
};

for (const [name, change] of Object.entries(changes)) {
  test(name, async (t) => {
    const { victim } = t.context;
    const { id } = await storeTold(victim);
    const stranger = await createVictim();
    await storeTold(stranger);
    const foreign = await firstRecord(stranger);
    victim.lie(records, (items) => change(items as unknown as Item[], foreign));
    const error = await assertRolledBack(t, open((await addDevice(victim)).session, id));
    t.is(error.subject, 'memory');
  });
}

test('a later report without the one before it', async (t) => {
  const { victim } = t.context;
  const { id, teller } = await storeTold(victim);
  await addNext(teller.session, id);
  await teller.session.memory.exchange();
  victim.lie(records, (items) => items.filter((item) => item['number'] !== 1));
  const error = await assertRolledBack(t, open((await addDevice(victim)).session, id));
  t.is(error.subject, 'memory');
});

test('another report in the place of one that was read', async (t) => {
  const { victim } = t.context;
  const { teller } = await storeTold(victim);
  const reader = await addDevice(victim);
  await reader.session.memory.exchange();
  const keys = await victim.session.envelopes.openMasterKeys();
  const forged = await forge(victim, keys, { writer: teller.deviceId, values: {} });
  victim.lie(records, () => [{ ...forged, position: 2 ** 40 }]);
  const error = await assertRolledBack(t, reader.session.memory.exchange());
  t.is(error.subject, 'memory');
});

test('a report made with an earlier master key after a rekey', async (t) => {
  const { victim } = t.context;
  const { id } = await storeTold(victim);
  const before = await victim.session.envelopes.openMasterKeys();
  const values = {
    documents: { [id]: { version: 99, change: 0, metadataHash: 'a'.repeat(64) } },
  };
  const forged = await forge(victim, before, { writer: randomUUID(), values });
  await rekey(victim);
  await post(victim, forged);
  t.is(await openVersion((await addDevice(victim)).session, id), 2);
});

test('what only a revoked device told counts for nothing, on every device', async (t) => {
  const { victim } = t.context;
  const { id } = await storeTold(victim);
  const stolen = createDeviceKey();
  const thief = await victim.client.login(victim.credentials);
  await thief.devices.add({ ...stolen, name: 'Phone', platform: 'Firefox' });
  await thief.memory.madeDocument(id, { version: 99, change: 0, metadataHash: 'a'.repeat(64) });
  await thief.memory.exchange();
  const [here, there] = [await addDevice(victim), await addDevice(victim)];
  for (const { session } of [here, there]) {
    const error = await assertRolledBack(t, open(session, id));
    t.is(error.toldBy, stolen.deviceId);
  }
  await here.session.devices.revoke(stolen.deviceId);
  await there.session.memory.exchange();
  for (const { session } of [here, there, await addDevice(victim)]) {
    t.is(await openVersion(session, id), 2);
  }
});

test('a restore that the user accepted on one device counts on the others, once', async (t) => {
  const { victim } = t.context;
  const { id, first, teller } = await storeTold(victim);
  const other = await addDevice(victim);
  victim.lie(oneDocument, () => first);
  const error = await assertRolledBack(t, open(other.session, id));
  await other.session.memory.acceptDocument(error);
  t.is(await openVersion(other.session, id), 1);
  await other.session.memory.exchange();
  await assertRolledBack(t, open(teller.session, id));
  await teller.session.memory.exchange();
  t.is(await openVersion(teller.session, id), 1, 'accepted by the signed report of the other');

  // Later states are remembered as before.
  victim.tellTruth();
  for (const { session } of [teller, other]) t.is(await openVersion(session, id), 2);
  victim.lie(oneDocument, () => first);
  for (const { session } of [teller, other, { session: await teller.again() }]) {
    await assertRolledBack(t, open(session, id));
  }
});

test('a restore is not accepted by a device that remembers a newer state', async (t) => {
  const { victim } = t.context;
  const { id, first, teller } = await storeTold(victim);
  const other = await addDevice(victim);
  await addNext(teller.session, id);
  victim.lie(oneDocument, () => first);
  const error = await assertRolledBack(t, open(other.session, id));
  await other.session.memory.acceptDocument(error);
  await other.session.memory.exchange();
  await teller.session.memory.exchange();
  const refused = await assertRolledBack(t, open(teller.session, id));
  t.regex(refused.remembered, /^version 3/);
});

test('a device begins anew after 50 reports, and nothing it told is lost', async (t) => {
  const { victim } = t.context;
  const { id, first, teller } = await storeTold(victim);
  const { memory } = teller.session;
  const state = { version: 1, change: 0, metadataHash: 'b'.repeat(64) };
  for (let count = 0; count < 52; count += 1) {
    await memory.madeDocument(randomUUID(), state);
    await memory.exchange();
  }
  const { body } = await teller.session.http.send({ method: 'GET', path: '/v1/memory/records' });
  t.true((body as Item[]).length < 10);
  victim.lie(oneDocument, () => first);
  await assertRolledBack(t, open((await addDevice(victim)).session, id));
});
