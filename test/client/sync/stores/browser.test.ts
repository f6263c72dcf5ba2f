import 'fake-indexeddb/auto';
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openDB } from 'idb';
import { forgetSyncDatabase, openSyncDatabase } from '../../../../client/browser/sync-database.ts';
import { createDeviceKey } from '../../../../client/keys/device-key.ts';
import { createInMemoryStore } from '../../../../client/sync/stores/in-memory-store.ts';
import { sharedVault } from '../../../support/vault/shared-vault.ts';
import { connect, createUser } from '../../../support/client/user.ts';
import { impatient } from '../devices.ts';

const vault = sharedVault();

/** Creates a user with a phone and a browser whose connection and tab may go away. */
async function createBrowserUser() {
  const network = { isOnline: true };
  const fetch: typeof globalThis.fetch = async (input, init) => {
    if (!network.isOnline) throw new TypeError('offline');
    return globalThis.fetch(input, init);
  };
  const client = connect(vault, fetch, { retry: impatient });
  const { session, credentials, masterKey } = await createUser(vault, client);
  const [browser, mobile] = [createDeviceKey(), createDeviceKey()];
  await session.devices.add({ ...browser, name: 'Browser', platform: 'Firefox' });
  await session.devices.add({ ...mobile, name: 'Phone', platform: 'Android' });
  const { deviceId } = mobile;
  const onPhone = await connect(vault).login({ ...credentials, deviceId });
  const store = createInMemoryStore();
  const phone = await onPhone.sync({ masterKey, deviceId, schemaVersion: 1, store });

  const name = randomUUID();
  const openTab = async () => {
    const store = await openSyncDatabase({ name, masterKey });
    const { deviceId } = browser;
    const objects = await session.sync({ masterKey, deviceId, schemaVersion: 1, store });
    return { objects, close: () => store.close() };
  };
  return { name, masterKey, network, phone, openTab };
}

test('offline changes of a browser survive its tab and reach other devices', async (t) => {
  const { network, phone, openTab } = await createBrowserUser();
  const first = await openTab();
  const shared = await first.objects.create({ data: { title: 'Lease', rent: 900 } });
  await first.objects.sync();
  await phone.sync();
  network.isOnline = false;
  await first.objects.change(shared, (data) => ({ ...data, rent: 950 }));
  const made = await first.objects.create({ data: { title: 'Handover' } });
  await t.throwsAsync(first.objects.sync(), { code: 'network_error' });
  first.close();

  const second = await openTab();
  t.is(second.objects.pending().length, 2);
  t.deepEqual((await second.objects.get(shared))?.data, { title: 'Lease', rent: 950 });
  network.isOnline = true;
  t.like(await second.objects.sync(), { sent: 2, conflicts: 0 });
  second.close();

  await phone.change(shared, (data) => ({ ...data, title: 'Lease of 2027' }));
  await phone.sync();
  t.deepEqual((await phone.get(shared))?.data, { title: 'Lease of 2027', rent: 950 });
  t.deepEqual((await phone.get(made))?.data, { title: 'Handover' });

  const third = await openTab();
  t.deepEqual(third.objects.pending(), []);
  t.like(await third.objects.sync(), { received: 1, sent: 0 });
  t.deepEqual((await third.objects.get(shared))?.data, { title: 'Lease of 2027', rent: 950 });
  third.close();
});

test('a browser stores only ciphertext, and nothing of it after forget', async (t) => {
  const { name, masterKey, openTab } = await createBrowserUser();
  const first = await openTab();
  const id = await first.objects.create({ data: { title: 'Lease of 2027' }, objectType: 'note' });
  await first.objects.sync();
  await first.objects.change(id, () => ({ title: 'Lease of 2028' }));
  first.close();
  const raw = await openDB(name);
  const kept = JSON.stringify([await raw.getAll('objects'), await raw.getAll('meta')]);
  raw.close();
  t.true(kept.includes(id));
  const secrets = ['Lease of', Buffer.from(masterKey).toString('base64')];
  for (const secret of secrets) t.false(kept.includes(secret));

  await forgetSyncDatabase(name);
  const second = await openTab();
  t.deepEqual(second.objects.list(), []);
  await second.objects.sync();
  t.deepEqual((await second.objects.get(id))?.data, { title: 'Lease of 2027' });
  second.close();
});
