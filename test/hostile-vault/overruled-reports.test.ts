import anyTest, { type TestFn } from 'ava';
import { createDeviceKey } from '../../client/keys/device-key.ts';
import { createVictim, type Victim } from './liar.ts';
import { addDevice, open, openVersion, addNext, storeTold, assertRolledBack } from './telling.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;

const oneDocument = /^GET .*\/documents\/[^/]+$/;

test.beforeEach(async (t) => {
  t.context = { victim: await createVictim() };
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
