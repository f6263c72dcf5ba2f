import anyTest, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import type { Credentials } from '../../client/accounts/accounts.ts';
import { verifyAuthor } from '../../client/authorship/verify-author.ts';
import { Key } from '../../client/crypto/key.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import { openDocument, openVersionOf } from '../../client/documents/open-document.ts';
import { downloadFile } from '../../client/downloads/download.ts';
import { encodeBase64 } from '../../client/bytes/base64.ts';
import { createDeviceKey } from '../../client/keys/device-key.ts';
import { sealDocumentKey } from '../../client/sharing/wrap.ts';
import { collect, gather } from '../support/client/collect.ts';
import { createTestMemory } from '../support/client/memory-store.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { connect, createUser } from '../support/client/user.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import {
  addPythonDevice,
  askClient,
  checkAuthor,
  createPythonUser,
  keepFile,
  proofsOf,
  rekeyByPython,
  rekeyByTypeScript,
  runClient,
  sealText,
  type Options,
} from './python-client.ts';

// The tests are serial: they share a user of each client.
const test = anyTest.serial;

const vault = await startReadyVault();
const reference = await createUser(vault);
const { session } = reference;
const { email } = reference.credentials;
const { fingerprint } = await session.enableSharing();
let python: Awaited<ReturnType<typeof createPythonUser>>;
test.before(async (t) => {
  python = await createPythonUser(t, vault);
});
test.after.always(() => vault.stop());

const Renewed = z.object({ renewed: z.array(z.uuid()) });
const Given = z.object({ shareId: z.uuid() });
const Received = z.array(
  z.object({
    shareId: z.uuid(),
    expiresAt: z.iso.datetime().nullable(),
    documentId: z.uuid(),
    version: z.int().nullable(),
    metadata: z.object({ name: z.string() }),
    text: z.string(),
  }),
);
const Recipient = z.object({ recipientId: z.uuid(), publicKey: Key });
const Nothing = z.strictObject({});

/** Shares a document from the Python client to the TypeScript client. */
const give = (t: ExecutionContext, document: string, options: Options = {}) =>
  askClient(t, Given, vault, python.user, 'share', {
    document,
    recipient: email,
    fingerprint,
    ...options,
  });

interface Sharer {
  readonly user: Credentials;
  readonly fingerprint: string;
}

/** Opens by the TypeScript client what a user of the Python client shared. */
const openFrom = ({ user, fingerprint: sharer }: Sharer, shareId: string) =>
  session.openShared(shareId, { email: user.email, sharer });

/** Lists what the Python client receives from a person. */
const receive = (t: ExecutionContext, sharer: string) =>
  askClient(t, Received, vault, python.user, 'shared', { sharer });

test('the TypeScript client opens what the Python client shares, and from whom', async (t) => {
  const { documentId } = await sealText(t, vault, python.user, 'from Python');
  const whole = await give(t, documentId);
  const sharer = python.fingerprint;
  const opened = await session.openShared(whole.shareId, { email: python.user.email, sharer });
  t.like(opened, { documentId, sharerFingerprint: sharer, signedBy: python.user.email });
  const bytes = await collect(downloadFile(toolsOf(session), opened));
  t.is(Buffer.from(bytes).toString(), 'from Python');
});

test('a share of one version by the Python client opens that version', async (t) => {
  const { documentId } = await sealText(t, vault, python.user, 'one version');
  const { shareId } = await give(t, documentId, { 'only-version': '1' });
  const opened = await session.openShared(shareId, {
    email: python.user.email,
    sharer: python.fingerprint,
  });
  t.is(opened.place.version, 1);
  const bytes = await collect(downloadFile(toolsOf(session), opened));
  t.is(Buffer.from(bytes).toString(), 'one version');
});

test('the Python client opens what a TypeScript client of this fingerprint shares', async (t) => {
  const source = sourceOf(new TextEncoder().encode('from TypeScript'));
  const named = { name: 'Nüsse.txt', mediaType: 'text/plain' };
  const { masterKey } = reference;
  const document = await session.storeDocument({ source, masterKey, ...named });
  const known = { fingerprint: python.fingerprint };
  const share = await session.shareDocument(document.id, python.user.email, known);
  const expected = {
    shareId: share.id,
    expiresAt: null,
    documentId: document.id,
    version: null,
    metadata: { name: 'Nüsse.txt' },
    text: 'from TypeScript',
  };
  t.deepEqual(await receive(t, fingerprint), [expected]);
  t.deepEqual(await receive(t, python.fingerprint), []);

  const other = await session.storeDocument({ source, masterKey, ...named });
  await session.certifyDocument(other.id);
  const only = await session.shareDocument(other.id, python.user.email, { ...known, version: 1 });
  const [newest] = await receive(t, fingerprint);
  t.deepEqual(newest, { ...expected, shareId: only.id, documentId: other.id, version: 1 });
});

test('the Python client leaves out a share that its sharer did not sign', async (t) => {
  const { document } = await storeBytes(reference, 10);
  const { documentKey } = await openDocument(toolsOf(session), { ...reference, id: document.id });
  const json = { recipientEmail: python.user.email };
  const request = { method: 'POST', path: '/v1/documents/share-key', json } as const;
  const { recipientId, publicKey } = await session.http.json(Recipient, request);
  const before = await receive(t, fingerprint);
  for (const signature of [encodeBase64(new Uint8Array(64)), undefined]) {
    const wrappedKey = await sealDocumentKey(publicKey, document.id, documentKey);
    const { body } = await session.http.send({
      method: 'POST',
      path: `/v1/documents/${document.id}/share`,
      json: {
        recipientId,
        wrappedKey: encodeBase64(wrappedKey),
        permissions: ['read'],
        ...(signature !== undefined && { signature }),
      },
    });
    t.deepEqual(await receive(t, fingerprint), before);
    await session.unshare(document.id, z.object({ id: z.uuid() }).parse(body).id);
  }
});

test('the Python client shares nothing with keys of another fingerprint', async (t) => {
  const { documentId } = await sealText(t, vault, python.user, 'kept');
  const options = { document: documentId, recipient: email, fingerprint: python.fingerprint };
  const { code, errors } = await runClient(vault, python.user, 'share', options);
  t.is(code, 1);
  t.regex(errors, /the recipient has another fingerprint/);
});

test('each client knows who stated the shares of the other one, and their ends', async (t) => {
  const { documentId } = await sealText(t, vault, python.user, 'shared for a while');
  const { shareId } = await give(t, documentId);
  await askClient(t, Nothing, vault, python.user, 'end-share', {
    document: documentId,
    share: shareId,
  });
  const stated = await proofsOf(t, vault, python.user, { type: 'document', id: documentId });
  const acts = ['document.shared', 'document.unshared'];
  t.deepEqual(stated.map(actionOf).slice(-2), acts);
  for (const proof of stated.slice(-2)) {
    const { standing } = verifyAuthor(proof, { fingerprint: python.fingerprint });
    t.is(standing, 'known_key', actionOf(proof));
  }

  const { masterKey } = reference;
  const source = sourceOf(new TextEncoder().encode('a while'));
  const document = await session.storeDocument({ source, masterKey, name: 'a', mediaType: 'a/b' });
  const known = { fingerprint: python.fingerprint };
  const share = await session.shareDocument(document.id, python.user.email, known);
  await session.unshare(document.id, share.id);
  const proofs = await proofsOf(t, vault, reference.credentials, {
    type: 'document',
    id: document.id,
  });
  t.deepEqual(proofs.map(actionOf).slice(-2), acts);
  for (const proof of proofs.slice(-2)) {
    const expected = { action: actionOf(proof), fingerprint };
    t.deepEqual(await checkAuthor(t, vault, proof, { fingerprint }), expected);
  }
});

test('both clients take over when a share ends, and what it replaces', async (t) => {
  const inAnHour = new Date(Date.now() + 3_600_000);
  const expiresAt = inAnHour.toISOString();
  const { documentId } = await sealText(t, vault, python.user, 'for an hour');
  const endless = await give(t, documentId);
  const ending = await give(t, documentId, {
    'expires-at': expiresAt,
    replaces: endless.shareId,
  });
  const owner = await connect(vault).login(python.user);
  t.like(await gather(owner.listShares(documentId)), [{ id: ending.shareId, expiresAt }]);
  t.is((await gather(owner.listShares(documentId))).length, 1);
  t.is((await openFrom(python, ending.shareId)).expiresAt, expiresAt);
  await t.throwsAsync(openFrom(python, endless.shareId), { code: 'share_not_found' });

  const { document } = await storeBytes(reference, 10);
  const known = { fingerprint: python.fingerprint, expiresAt: inAnHour };
  const share = await session.shareDocument(document.id, python.user.email, known);
  const received = await receive(t, fingerprint);
  t.is(received.find(({ shareId }) => shareId === share.id)?.expiresAt, expiresAt);
});

test('the Python client makes shares anew under a new document key', async (t) => {
  const owner = await createPythonUser(t, vault);
  const { documentId: document } = await sealText(t, vault, owner.user, 'the first version');
  const named = { document, recipient: email, fingerprint };
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const given = { ...named, 'expires-at': expiresAt };
  const running = await askClient(t, Given, vault, owner.user, 'share', given);
  const before = await openFrom(owner, running.shareId);

  const rekeyed = await rekeyByPython(t, vault, owner.user);
  const file = await keepFile(t, 'under a new key');
  await askClient(t, z.unknown(), vault, rekeyed.user, 'add-version', { document, file });
  const next = { user: rekeyed.user, fingerprint: rekeyed.fingerprint };
  await t.throwsAsync(openFrom(owner, running.shareId), { code: 'invalid_share' });
  const { renewed } = await askClient(t, Renewed, vault, rekeyed.user, 'renew-shares', named);
  const [id = t.fail()] = renewed;
  t.is(renewed.length, 1);
  const opened = await openFrom(next, id);
  t.is(opened.expiresAt, expiresAt);
  t.notDeepEqual(opened.documentKey, before.documentKey);
  const bytes = await collect(downloadFile(toolsOf(session), opened));
  t.is(Buffer.from(bytes).toString(), 'under a new key');
  t.is((await openVersionOf(session, opened, 1)).metadata.fileHash, before.metadata.fileHash);
  await t.throwsAsync(openFrom(owner, running.shareId), { code: 'share_not_found' });
});

test('the TypeScript client makes shares of Python anew, once told of them', async (t) => {
  const account = await createUser(vault);
  const user = account.credentials;
  await account.session.enableSharing();
  const memory = createTestMemory();
  const login = await connect(vault).login({ ...user, memory });
  const laptop = createDeviceKey();
  await login.devices.add({ ...laptop, name: 'Laptop', platform: 'Firefox' });
  const owner = await connect(vault).login({ ...user, memory, deviceId: laptop.deviceId });
  const { id } = (await storeBytes(account, 10)).document;
  const { device } = await addPythonDevice(t, vault, user);
  const given = { document: id, recipient: python.user.email, fingerprint: python.fingerprint };
  await askClient(t, Given, vault, user, 'share', { ...given, device });
  await owner.memory.exchange();
  await rekeyByTypeScript(owner, user);

  const keys = await owner.envelopes.openMasterKeys();
  const source = sourceOf(new TextEncoder().encode('under a new key'));
  const added = await addVersion(toolsOf(owner), { id, ...keys, source });
  t.is(added.shares?.renewed.length, 1);
  t.deepEqual(added.shares?.unconfirmed, []);
  const sharer = (await owner.enableSharing()).fingerprint;
  const received = await receive(t, sharer);
  t.deepEqual(
    received.map(({ documentId, text }) => [documentId, text]),
    [[id, 'under a new key']],
  );
});

const actionOf = ({ entryCanonical }: { readonly entryCanonical: string }): string =>
  z.object({ action: z.string() }).parse(JSON.parse(entryCanonical)).action;
