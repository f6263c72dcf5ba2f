import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import type { Credentials } from '../../client/accounts/accounts.ts';
import { verifyAuthor } from '../../client/authorship/verify-author.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import { openDocument } from '../../client/documents/open-document.ts';
import { downloadFile } from '../../client/downloads/download.ts';
import { createDeviceKey } from '../../client/keys/device-key.ts';
import { RolledBackError } from '../../client/memory/values/rolled-back-error.ts';
import { createRecoveryWords } from '../../client/recovery/recovery-words.ts';
import type { VaultSession } from '../../client/session.ts';
import { collect } from '../support/client/collect.ts';
import { pathOf } from '../support/client/recording-fetch.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { connect, createUser } from '../support/client/user.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import {
  askClient,
  checkAuthor,
  createPythonUser,
  keepFile,
  proofsOf,
  sealText,
} from './python-client.ts';

const vault = await startReadyVault();
test.after.always(() => vault.stop());

const Registered = z.object({ deviceId: z.uuid() });
const Opened = z.object({ same: z.boolean(), generation: z.int() });
const Shown = z.object({ fingerprint: z.string() });
const Documents = z.object({ documents: z.array(z.object({ id: z.uuid() })) });
const Versions = z.array(z.object({ version: z.int() }));
const Owned = z.object({ resource: z.object({ owner: z.uuid() }) });
const State = z.object({ version: z.int(), change: z.int(), metadataHash: z.string() });
const Told = z.object({
  writers: z.record(z.string(), z.int()),
  documents: z.record(z.string(), State),
});

/** Adds a device of the Python client. Resolves with its id, and the file that keeps its key. */
async function addPythonDevice(t: ExecutionContext, user: Credentials) {
  const device = join(await temporaryDirectory(t), 'device.json');
  const { deviceId } = await askClient(t, Registered, vault, user, 'add-device', { device });
  return { device, deviceId };
}

/** Makes a new master key by the Python client. Resolves with the new credentials too. */
async function rekeyByPython(t: ExecutionContext, { email, password }: Credentials) {
  const secrets = { password: `new ${password}`, words: createRecoveryWords() };
  const file = await keepFile(t, JSON.stringify(secrets));
  const user = { email, password };
  const { fingerprint } = await askClient(t, Shown, vault, user, 'rekey', { secrets: file });
  return { ...secrets, fingerprint, user: { email, password: secrets.password } };
}

async function rekeyByTypeScript(session: VaultSession, { password }: Credentials): Promise<void> {
  const draft = await session.draftRekey({ password, keepPassword: true });
  await draft.confirm(draft.words);
}

/** Opens the newest version of a document by the TypeScript client. */
async function readText(session: VaultSession, id: string): Promise<string> {
  const keys = await session.envelopes.openMasterKeys();
  const tools = toolsOf(session);
  const opened = await openDocument(tools, { id, ...keys });
  return Buffer.from(await collect(downloadFile(tools, opened))).toString();
}

async function addText(session: VaultSession, id: string, text: string): Promise<void> {
  const source = sourceOf(new TextEncoder().encode(text));
  const keys = await session.envelopes.openMasterKeys();
  await addVersion(toolsOf(session), { id, ...keys, source });
}

test('the Python client opens what a rekey of the TypeScript client leaves', async (t) => {
  const account = await createUser(vault);
  const { session, credentials } = account;
  const before = await session.enableSharing();
  const { document } = await storeBytes(account, 10);
  const python = await addPythonDevice(t, credentials);
  const stranger = await createPythonUser(t, vault);
  const { documentId } = await sealText(t, vault, stranger.user, 'shared before');
  await askClient(t, z.unknown(), vault, stranger.user, 'share', {
    document: documentId,
    recipient: credentials.email,
    fingerprint: before.fingerprint,
  });
  await rekeyByTypeScript(session, credentials);

  const { device } = python;
  const opened = await askClient(t, Opened, vault, credentials, 'check-device', { device });
  t.deepEqual(opened, { same: true, generation: 2 });
  const shown = await askClient(t, Shown, vault, credentials, 'identity');
  t.is(shown.fingerprint, (await session.enableSharing()).fingerprint);
  t.not(shown.fingerprint, before.fingerprint);
  const { documents } = await askClient(t, Documents, vault, credentials, 'documents');
  t.deepEqual(
    documents.map(({ id }) => id),
    [document.id],
  );
  const received = await askClient(
    t,
    z.array(z.object({ text: z.string() })),
    vault,
    credentials,
    'shared',
    {
      sharer: stranger.fingerprint,
    },
  );
  t.deepEqual(received, [{ text: 'shared before' }]);

  const file = await keepFile(t, 'under a new document key');
  const named = { document: document.id };
  await askClient(t, z.unknown(), vault, credentials, 'add-version', { ...named, file });
  t.is(await readText(session, document.id), 'under a new document key');
  const versions = await askClient(t, Versions, vault, credentials, 'versions', named);
  t.deepEqual(
    versions.map(({ version }) => version),
    [2, 1],
  );
});

test('the TypeScript client opens what a rekey of the Python client leaves', async (t) => {
  const python = await createPythonUser(t, vault);
  const { documentId } = await sealText(t, vault, python.user, 'before the rekey');
  const device = createDeviceKey();
  const earlier = await connect(vault).login(python.user);
  await earlier.devices.add({ ...device, name: 'Laptop', platform: 'Firefox' });
  const { user, words, fingerprint } = await rekeyByPython(t, python.user);

  const { deviceId } = device;
  const session = await connect(vault).login({ ...user, deviceId });
  const keys = await session.envelopes.openMasterKeys();
  t.is(keys.earlierKeys?.length, 1);
  t.deepEqual(await session.envelopes.openMasterKeysWithDevice(device), keys);
  t.true(await session.recovery.check(words));
  t.is((await session.enableSharing()).fingerprint, fingerprint);
  t.is(await readText(session, documentId), 'before the rekey');
  await addText(session, documentId, 'under a new document key');
  const versions = await askClient(t, Versions, vault, user, 'versions', { document: documentId });
  t.deepEqual(
    versions.map(({ version }) => version),
    [2, 1],
  );
});

test('each client follows an author through rekeys of both', async (t) => {
  const python = await createPythonUser(t, vault);
  const { user } = await rekeyByPython(t, python.user);
  const session = await connect(vault).login(user);
  await rekeyByTypeScript(session, user);
  const { proof } = await sealText(t, vault, user, 'under the third identity');
  const { fingerprint } = python;
  const { resource } = Owned.parse(JSON.parse(proof.entryCanonical));
  const changed = { type: 'sharing_key', id: resource.owner };
  const identityChanges = await proofsOf(t, vault, user, changed);
  t.is(identityChanges.length, 3);
  t.is(verifyAuthor(proof, { fingerprint, identityChanges }).standing, 'known_key');
  t.is(verifyAuthor(proof, { fingerprint }).standing, 'invalid');

  const files = identityChanges.map((change) => keepFile(t, JSON.stringify(change)));
  const change = await Promise.all(files);
  const present = (await session.enableSharing()).fingerprint;
  const author = await checkAuthor(t, vault, proof, { fingerprint, change });
  t.deepEqual(author, { action: 'document.sealed', fingerprint: present });
  const broken = checkAuthor(t, vault, proof, { fingerprint, change: change.slice(0, 2) });
  await t.throwsAsync(broken, { message: /other_author/ });
});

test('the Python client reads what a device of the TypeScript client tells', async (t) => {
  const account = await createUser(vault);
  const { credentials, session } = account;
  const { document } = await storeBytes(account, 10);
  await addText(session, document.id, 'the second version');
  const device = createDeviceKey();
  await session.devices.add({ ...device, name: 'Laptop', platform: 'Firefox' });
  await readText(session, document.id);
  await session.memory.exchange();
  const told = await askClient(t, Told, vault, credentials, 'told');
  t.deepEqual(told.writers, { [device.deviceId]: 1 });
  t.like(told.documents[document.id], { version: 2, change: 0 });

  const python = await addPythonDevice(t, credentials);
  const options = { device: python.device, document: document.id };
  for (const number of [1, 2]) {
    const answer = await askClient(
      t,
      z.object({ number: z.int() }),
      vault,
      credentials,
      'tell',
      options,
    );
    t.is(answer.number, number);
  }
  const { writers } = await askClient(t, Told, vault, credentials, 'told');
  t.deepEqual(writers, { [device.deviceId]: 1, [python.deviceId]: 2 });
});

test('the TypeScript client believes what a device of the Python client tells', async (t) => {
  const account = await createUser(vault);
  const { credentials, session } = account;
  const { document } = await storeBytes(account, 10);
  const { id } = document;
  await addText(session, id, 'the second version');
  const python = await addPythonDevice(t, credentials);
  await askClient(t, z.unknown(), vault, credentials, 'tell', {
    device: python.device,
    document: id,
  });

  const rolledBack: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const isDocument = pathOf(input).endsWith(`/documents/${id}`);
    return isDocument ? Response.json(document, { headers: { ETag: '"1"' } }) : response;
  };
  const other = await connect(vault, rolledBack).login(credentials);
  const error = await t.throwsAsync(readText(other, id), { instanceOf: RolledBackError });
  t.is(error?.toldBy, python.deviceId);
  t.is(await readText(await connect(vault).login(credentials), id), 'the second version');
});
