import anyTest, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { verifyAuthor } from '../../client/authorship/verify-author.ts';
import { Key } from '../../client/crypto/key.ts';
import { openDocument } from '../../client/documents/open-document.ts';
import { downloadFile } from '../../client/downloads/download.ts';
import { encodeBase64 } from '../../client/bytes/base64.ts';
import { sealDocumentKey } from '../../client/sharing/wrap.ts';
import { collect } from '../support/client/collect.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { createUser } from '../support/client/user.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import {
  askClient,
  checkAuthor,
  createPythonUser,
  proofsOf,
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

const Given = z.object({ shareId: z.uuid() });
const Received = z.array(
  z.object({
    shareId: z.uuid(),
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

const actionOf = ({ entryCanonical }: { readonly entryCanonical: string }): string =>
  z.object({ action: z.string() }).parse(JSON.parse(entryCanonical)).action;
