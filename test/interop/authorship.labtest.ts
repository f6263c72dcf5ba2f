import test from 'ava';
import { z } from 'zod';
import type { Credentials } from '../../client/accounts/accounts.ts';
import { verifyAuthor } from '../../client/authorship/verify-author.ts';
import type { OpenAccount } from '../../client/demo/steps/account.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import { openDocument } from '../../client/documents/open-document.ts';
import { downloadFile } from '../../client/downloads/download.ts';
import type { AuditProof } from '../../client/proofs/proof-format.ts';
import { verifyProof } from '../../client/proofs/verify-proof.ts';
import { collect } from '../support/client/collect.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { connect, createUser } from '../support/client/user.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import {
  askClient,
  checkAuthor,
  createPythonUser,
  keepFile,
  proofsOf,
  readAuditKeyId,
  sealText,
} from './python-client.ts';

const vault = await startReadyVault();
const reference = await createUser(vault);
const { fingerprint } = await reference.session.enableSharing();
const trustedKeys = [await readAuditKeyId(vault)];
test.after.always(() => vault.stop());

const Added = z.object({ version: z.int() });
const Versions = z.array(z.object({ version: z.int(), metadata: z.object({ size: z.int() }) }));
const Shown = z.object({ fingerprint: z.string() });
const Nothing = z.strictObject({});

/** Opens a session of the TypeScript client for a user. */
async function openSession(credentials: Credentials): Promise<OpenAccount> {
  const session = await connect(vault).login(credentials);
  return { credentials, session, masterKey: await session.envelopes.openMasterKey() };
}

/** Seals a document as a client does that states nothing. */
async function sealUnstated(): Promise<AuditProof> {
  const { document } = await storeBytes(reference, 10);
  const { proofId } = await reference.session.documents.certify(document.id);
  return reference.session.proofs.get(proofId);
}

test('an identity that the Python client makes proves itself to the vault', async (t) => {
  const python = await createPythonUser(t, vault);
  const shown = await askClient(t, Shown, vault, python.user, 'identity');
  t.is(shown.fingerprint, python.fingerprint);
  const opened = await connect(vault).login(python.user);
  t.is((await opened.enableSharing()).fingerprint, python.fingerprint);
  const [change] = await opened.proofs.identityChanges();
  t.true(verifyProof(change, { trustedKeys }).valid);
});

test('the TypeScript client knows the author of a seal by the Python client', async (t) => {
  const python = await createPythonUser(t, vault);
  const { proof } = await sealText(t, vault, python.user, 'what was agreed');
  t.true(verifyProof(proof, { trustedKeys }).valid);
  t.like(verifyAuthor(proof), { standing: 'unknown_key', fingerprint: python.fingerprint });
  t.is(verifyAuthor(proof, { fingerprint: python.fingerprint }).standing, 'known_key');
  const other = verifyAuthor(proof, { fingerprint });
  t.deepEqual(other, { standing: 'invalid', reason: 'other_author' });
});

test('the Python client knows the author of a seal by the TypeScript client', async (t) => {
  const { document } = await storeBytes(reference, 10);
  const { proof } = await reference.session.certifyDocument(document.id);
  const stated = { action: 'document.sealed', fingerprint };
  t.deepEqual(await checkAuthor(t, vault, proof), stated);
  t.deepEqual(await checkAuthor(t, vault, proof, { fingerprint }), stated);
  const stranger = checkAuthor(t, vault, proof, { fingerprint: '0'.repeat(32) });
  await t.throwsAsync(stranger, { message: /other_author/ });
  const unstated = await checkAuthor(t, vault, await sealUnstated());
  t.deepEqual(unstated, { ...stated, fingerprint: null });
});

test('each client knows the author of a deletion by the other one', async (t) => {
  const python = await createPythonUser(t, vault);
  const own = await openSession(python.user);
  const [first, second] = [await storeBytes(own, 10), await storeBytes(own, 10)];
  await askClient(t, Nothing, vault, python.user, 'delete', { document: first.document.id });
  await own.session.deleteDocument(second.document.id);
  for (const { document } of [first, second]) {
    const proofs = await proofsOf(t, vault, python.user, { type: 'document', id: document.id });
    const deletion = proofs.at(-1) ?? t.fail();
    const { fingerprint } = python;
    t.is(verifyAuthor(deletion, { fingerprint }).standing, 'known_key');
    const stated = { action: 'document.deleted', fingerprint };
    t.deepEqual(await checkAuthor(t, vault, deletion, { fingerprint }), stated);
  }
});

test('both clients read the versions that the other one added', async (t) => {
  const python = await createPythonUser(t, vault);
  const { documentId } = await sealText(t, vault, python.user, 'what was agreed');
  const { session, masterKey } = await openSession(python.user);
  const tools = toolsOf(session);
  const second = new TextEncoder().encode('the second version');
  await addVersion(tools, { id: documentId, masterKey, source: sourceOf(second) });
  const file = await keepFile(t, 'the third, of Python');
  const added = await askClient(t, Added, vault, python.user, 'add-version', {
    document: documentId,
    file,
  });
  t.is(added.version, 3);

  const document = await openDocument(tools, { id: documentId, masterKey });
  t.is(document.version, 3);
  const bytes = await collect(downloadFile(tools, document));
  t.is(Buffer.from(bytes).toString(), 'the third, of Python');
  const { proof } = await session.certifyDocument(documentId);
  t.is(verifyAuthor(proof, { fingerprint: python.fingerprint }).standing, 'known_key');

  const versions = await askClient(t, Versions, vault, python.user, 'versions', {
    document: documentId,
  });
  t.deepEqual(
    versions.map(({ version, metadata }) => [version, metadata.size]),
    [
      [3, 20],
      [2, second.length],
      [1, 15],
    ],
  );
});
