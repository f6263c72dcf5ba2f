import test from 'ava';
import { addVersion } from '../../../client/documents/add-version.ts';
import { changeMetadata } from '../../../client/documents/change-metadata.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { searchDocuments } from '../../../client/documents/search-documents.ts';
import { downloadDocument } from '../../../client/downloads/download.ts';
import { createDeviceKey } from '../../../client/keys/device-key.ts';
import type { VaultSession } from '../../../client/session.ts';
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

test('a device that was away for a rekey and 50 versions agrees with the other one', async (t) => {
  const client = connect(vault);
  const user = await createUser(vault, client);
  const { email, password } = user.credentials;
  const { document } = await storeBytes(user, 10, { keywords: ['red'] });
  const { id } = document;
  const away = createDeviceKey();
  await user.session.devices.add({ ...away, name: 'Laptop', platform: 'Firefox' });
  const memories = [createTestMemory(), createTestMemory()] as const;
  const logIn = (index: 0 | 1, secret: string) =>
    client.login({ email, password: secret, memory: memories[index] });
  const before = await logIn(1, password);
  const { masterKey } = await before.envelopes.openMasterKeys();
  await addVersion(toolsOf(before), { id, masterKey, source: sourceOf(new Uint8Array(20)) });
  await before.envelopes.openMasterKeysWithDevice(away);

  const here = await logIn(0, password);
  const newPassword = `new ${password}`;
  const draft = await here.draftRekey({ password, newPassword });
  await draft.confirm(draft.words);
  const keys = await here.envelopes.openMasterKeys();
  for (let count = 3; count <= versions; count += 1) {
    await addVersion(toolsOf(here), { id, ...keys, source: sourceOf(new Uint8Array(10 + count)) });
  }
  await changeMetadata(toolsOf(here), { id, ...keys, name: 'the last name' });

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
  // Each goes on from what the other one wrote, in later sessions too.
  await changeMetadata(toolsOf(there), { id, ...keys, name: 'by the other device' });
  const later = await Promise.all([logIn(0, newPassword), logIn(1, newPassword)]);
  for (const session of later) {
    t.is((await readAll(session, id)).metadata.name, 'by the other device');
  }
});
