import test from 'ava';
import { z } from 'zod';
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
import { startReadyVault } from '../support/vault/vault.ts';
import {
  addPythonDevice,
  askClient,
  checkAuthor,
  createPythonUser,
  keepFile,
  makeWords,
  proofsOf,
  recoverByPython,
  rekeyByPython,
  rekeyByTypeScript,
  sealText,
  setWordsByPython,
} from './python-client.ts';

const vault = await startReadyVault();
test.after.always(() => vault.stop());

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
  const python = await addPythonDevice(t, vault, credentials);
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
  const { user, words, fingerprint } = await rekeyByPython(t, vault, python.user);

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
  const { user } = await rekeyByPython(t, vault, python.user);
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

  const python = await addPythonDevice(t, vault, credentials);
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
  const python = await addPythonDevice(t, vault, credentials);
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

test('the Python client recovers an account by words of TypeScript, and rekeys it', async (t) => {
  const account = await createUser(vault);
  const { session, credentials, masterKey } = account;
  const { email, password } = credentials;
  const { id } = (await storeBytes(account, 10)).document;
  await addText(session, id, 'before the recovery');
  const draft = session.recovery.draft();
  await draft.confirm({ words: draft.words, password });

  const user = { email, password: 'set by the words' };
  const guess = recoverByPython(t, vault, user, createRecoveryWords());
  await t.throwsAsync(guess, { message: /401 invalid_proof/ });
  await recoverByPython(t, vault, user, ` ${draft.words.toUpperCase().replaceAll(' ', '\t')}`);
  const recovered = await connect(vault).login(user);
  t.deepEqual(await recovered.envelopes.openMasterKey(), masterKey);
  t.is(await readText(recovered, id), 'before the recovery');
  t.true(await recovered.recovery.check(draft.words));

  const { user: renewed, words } = await rekeyByPython(t, vault, user);
  const rekeyed = await connect(vault).login(renewed);
  const keys = await rekeyed.envelopes.openMasterKeys();
  t.deepEqual(keys.earlierKeys, [masterKey]);
  t.is(await readText(rekeyed, id), 'before the recovery');
  t.false(await rekeyed.recovery.check(draft.words));
  await recoverByPython(t, vault, { ...user, password: 'set again' }, words);
  const again = await connect(vault).login({ ...user, password: 'set again' });
  t.deepEqual(await again.envelopes.openMasterKeys(), keys);
  t.is(await readText(again, id), 'before the recovery');
});

test('the TypeScript client recovers an account by words that Python made', async (t) => {
  const python = await createPythonUser(t, vault);
  const { email } = python.user;
  const { documentId } = await sealText(t, vault, python.user, 'before the recovery');
  const first = await makeWords(t, vault, python.user);
  await setWordsByPython(t, vault, python.user, first);
  const words = await makeWords(t, vault, python.user);
  await setWordsByPython(t, vault, python.user, words);
  const client = connect(vault);
  const outdated = client.recover({ email, words: first, newPassword: 'set by the words' });
  await t.throwsAsync(outdated, { code: 'invalid_proof' });
  const session = await client.recover({ email, words, newPassword: 'set by the words' });
  t.is(await readText(session, documentId), 'before the recovery');

  const user = { email, password: 'set by the words' };
  const { words: next } = await rekeyByPython(t, vault, user);
  const recovered = await client.recover({ email, words: next, newPassword: 'set again' });
  t.is(await readText(recovered, documentId), 'before the recovery');
  t.is((await recovered.envelopes.openMasterKeys()).earlierKeys?.length, 1);
});
