import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { decodeBase64, encodeBase64 } from '../../client/bytes/base64.ts';
import { storeBytes } from '../support/client/stored.ts';
import { createVictim, rekey, type Victim } from './liar.ts';
import {
  type Item,
  addDevice,
  open,
  openVersion,
  addNext,
  storeTold,
  assertRolledBack,
  forge,
  firstRecord,
  post,
} from './telling.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;

const oneDocument = /^GET .*\/documents\/[^/]+$/;
const records = /^GET .*\/memory\/records$/;

test.beforeEach(async (t) => {
  t.context = { victim: await createVictim() };
});

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

test('a device tells nothing twice, in later sessions neither', async (t) => {
  const { victim } = t.context;
  const { teller } = await storeTold(victim);
  const { session } = victim;
  const list = () => session.http.send({ method: 'GET', path: '/v1/memory/records' });
  const { body: before } = await list();
  await teller.session.memory.exchange();
  const later = await teller.again();
  await later.memory.exchange();
  await later.logout();
  t.deepEqual((await list()).body, before);
});

test('records that a rekey left in the vault do not keep a device from telling', async (t) => {
  const { victim } = t.context;
  const { id, first, teller } = await storeTold(victim);
  victim.lie(records, () => []);
  await rekey(victim);
  victim.tellTruth();
  const later = await teller.again();
  await open(later, id);
  await addNext(later, id);
  await later.memory.exchange();
  victim.lie(oneDocument, () => first);
  const error = await assertRolledBack(t, open((await addDevice(victim)).session, id));
  t.is(error.toldBy, teller.deviceId);
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
