import test from 'ava';
import { createDeviceKey, type DeviceKey } from '../../../client/keys/device-key.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import type { SyncStore } from '../../../client/sync/stores/store.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import { connect, createUser } from '../../support/client/user.ts';

const vault = sharedVault();

/** Opens the objects of the session's user on a device, by the device's own key. */
async function openOn(session: VaultSession, device: DeviceKey, store: SyncStore) {
  const keys = await session.envelopes.openMasterKeysWithDevice(device);
  return session.sync({ ...keys, deviceId: device.deviceId, schemaVersion: 1, store });
}

test('two devices share an object, learn of its changes, and read it after a rekey', async (t) => {
  const { session, credentials, masterKey } = await createUser(vault);
  const [laptop, phone] = [createDeviceKey(), createDeviceKey()];
  await session.devices.add({ ...laptop, name: 'Laptop', platform: 'Firefox' });
  await session.devices.add({ ...phone, name: 'Phone', platform: 'Android' });
  const onPhone = await connect(vault).login({ ...credentials, deviceId: phone.deviceId });

  const store = createInMemoryStore();
  const here = await openOn(session, laptop, store);
  const there = await openOn(onPhone, phone, createInMemoryStore());
  const hearing = new AbortController();
  const { signal } = hearing;
  const events = onPhone.syncEvents({ deviceId: phone.deviceId, signal });
  t.like((await events.next()).value, { type: 'ready' });

  const data = { title: 'Lease', parties: { landlord: 'Ada', tenant: 'Bob' } };
  const id = await here.create({ data });
  await here.sync();
  const { deviceId } = laptop;
  const heard = { type: 'change', objectId: id, version: 1, deleted: false, deviceId };
  t.like((await events.next()).value, heard);
  hearing.abort();
  await there.sync();
  t.deepEqual((await there.get(id))?.data, data);

  const draft = await session.draftRekey({ password: credentials.password, keepPassword: true });
  await draft.confirm(draft.words);
  const renewed = await openOn(session, laptop, store);
  t.deepEqual((await renewed.get(id))?.data, data);
  await renewed.change(id, (lease) => ({ ...lease, title: 'Lease of 2027' }));
  await renewed.sync();

  const again = await connect(vault).login({ ...credentials, deviceId: phone.deviceId });
  const after = await openOn(again, phone, createInMemoryStore());
  await after.sync();
  t.deepEqual((await after.get(id))?.data, { ...data, title: 'Lease of 2027' });
  const phoneId = phone.deviceId;
  const outdated = { masterKey, deviceId: phoneId, schemaVersion: 1, store: createInMemoryStore() };
  const old = await again.sync(outdated);
  await t.throwsAsync(old.sync(), { code: 'master_key_outdated' });
});

test('changes that wait during a rekey are sent under the new master key alone', async (t) => {
  const { session, credentials, masterKey } = await createUser(vault);
  const laptop = createDeviceKey();
  const { deviceId } = laptop;
  await session.devices.add({ ...laptop, name: 'Laptop', platform: 'Firefox' });
  const store = createInMemoryStore();
  const options = { deviceId, schemaVersion: 1, store };
  const before = await session.sync({ masterKey: masterKey.slice(), ...options });
  const sent = await before.create({ data: { title: 'Lease', from: 2026 } });
  await before.sync();
  const waiting = await before.create({ data: { title: 'Will' }, objectType: 'note' });
  await before.change(sent, (lease) => ({ ...lease, title: 'Lease of 2027' }));
  const draft = await session.draftRekey({ password: credentials.password, keepPassword: true });
  await draft.confirm(draft.words);
  await t.throwsAsync(before.sync(), { code: 'master_key_outdated' });
  t.is(before.pending().length, 2);

  const keys = await session.envelopes.openMasterKeys();
  const after = await session.sync({ ...keys, ...options });
  t.like(await after.sync(), { sent: 2 });
  t.like(await after.get(sent), { data: { title: 'Lease of 2027', from: 2026 } });
  const onlyNew = await session.sync({
    masterKey: keys.masterKey,
    ...options,
    store: createInMemoryStore(),
  });
  await t.throwsAsync(onlyNew.sync(), { code: 'invalid_leaf' }, 'an unchanged leaf');
  t.like(await onlyNew.get(waiting), { data: { title: 'Will' }, objectType: 'note' });
  t.is(await onlyNew.get(sent), undefined);
});
