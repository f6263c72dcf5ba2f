import test from 'ava';
import { addVersion } from '../../../client/documents/add-version.ts';
import { changeMetadata } from '../../../client/documents/change-metadata.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { searchDocuments } from '../../../client/documents/search-documents.ts';
import { downloadDocument } from '../../../client/downloads/download.ts';
import { createDeviceKey } from '../../../client/keys/device-key.ts';
import type { OpenAccount } from '../../../client/demo/steps/account.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import type { Sync } from '../../../client/sync/sync.ts';
import type { VaultClient } from '../../../client/vault.ts';
import { collect, gather } from '../../support/client/collect.ts';
import { createTestMemory } from '../../support/client/memory-store.ts';
import { sourceOf, storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';

const vault = sharedVault();
const versions = 50;

/** Opens the document, its second version and a search, as a device does. */
async function readAll(session: VaultSession, id: string) {
  const tools = toolsOf(session);
  const keys = await session.envelopes.openMasterKeys();
  const { metadata, place, versionKey } = await openDocument(tools, { id, ...keys });
  const second = await collect(downloadDocument(tools, { id, ...keys, version: 2 }));
  const found = await gather(searchDocuments(tools, { ...keys, all: ['red'] }));
  return { metadata, place, versionKey, second, found };
}

/** Registers a device of the user, which remembers what it sees and keeps its objects. */
async function createDevice(client: VaultClient, { credentials }: OpenAccount) {
  const [key, memory] = [createDeviceKey(), createTestMemory()];
  const session = await client.login({ ...credentials, memory });
  await session.devices.add({ ...key, name: 'Laptop', platform: 'Firefox' });
  return { key, memory, store: createInMemoryStore() };
}

async function openObjects(
  session: VaultSession,
  { key, store }: Awaited<ReturnType<typeof createDevice>>,
): Promise<Sync> {
  const keys = await session.envelopes.openMasterKeys();
  return session.sync({ ...keys, deviceId: key.deviceId, schemaVersion: 1, store });
}

test('a device that was away for a rekey and 50 versions agrees with the other one', async (t) => {
  const client = connect(vault);
  const user = await createUser(vault, client);
  const { email, password } = user.credentials;
  const { document } = await storeBytes(user, 10, { keywords: ['red'] });
  const { id } = document;
  const devices = [await createDevice(client, user), await createDevice(client, user)] as const;
  const [, { key: away }] = devices;
  const logIn = (index: 0 | 1, secret: string) => {
    const { memory, key } = devices[index];
    return client.login({ email, password: secret, memory, deviceId: key.deviceId });
  };
  const before = await logIn(1, password);
  const { masterKey } = await before.envelopes.openMasterKeys();
  await addVersion(toolsOf(before), { id, masterKey, source: sourceOf(new Uint8Array(20)) });
  await before.envelopes.openMasterKeysWithDevice(away);
  const made = await openObjects(before, devices[1]);
  const objectId = await made.create({ data: { count: 0, place: 'here' } });
  await made.sync();

  const here = await logIn(0, password);
  const newPassword = `new ${password}`;
  const draft = await here.draftRekey({ password, newPassword });
  await draft.confirm(draft.words);
  const keys = await here.envelopes.openMasterKeys();
  for (let count = 3; count <= versions; count += 1) {
    await addVersion(toolsOf(here), { id, ...keys, source: sourceOf(new Uint8Array(10 + count)) });
  }
  await changeMetadata(toolsOf(here), { id, ...keys, name: 'the last name' });
  const objects = await openObjects(here, devices[0]);
  for (let count = 1; count <= versions; count += 1) {
    await objects.sync();
    await objects.change(objectId, (data) => ({ ...data, count }));
    await objects.sync();
  }
  const added = await objects.create({ data: { count: -1 } });
  // The other device changed the object meanwhile, under the earlier master key.
  await made.change(objectId, (data) => ({ ...data, place: 'there' }));

  const there = await logIn(1, newPassword);
  await t.throwsAsync(there.envelopes.openMasterKeysWithDevice(away), {
    code: 'rekey_unconfirmed',
  });
  const [one, other] = [await readAll(here, id), await readAll(there, id)];
  t.deepEqual(other, one);
  t.like(one.place, { version: versions, change: 1, keyGeneration: 2 });
  t.is(one.found.length, 1);
  t.is(one.second.length, 20);
  t.deepEqual(await there.envelopes.openMasterKeysWithDevice(away), keys);
  const awayObjects = await openObjects(there, devices[1]);
  for (const each of [objects, awayObjects, objects]) await each.sync();
  for (const each of [objects, awayObjects]) {
    t.deepEqual((await each.get(objectId))?.data, { count: versions, place: 'there' });
    t.deepEqual((await each.get(added))?.data, { count: -1 });
  }

  // Each goes on from what the other one wrote, in later sessions too.
  await changeMetadata(toolsOf(there), { id, ...keys, name: 'by the other device' });
  const later = await Promise.all([logIn(0, newPassword), logIn(1, newPassword)]);
  for (const session of later) {
    t.is((await readAll(session, id)).metadata.name, 'by the other device');
  }
});
