import test from 'ava';
import { openAccount } from '../../client/demo/steps/account.ts';
import { decryptMetadata } from '../../client/documents/metadata.ts';
import { blobSource } from '../../client/files/byte-source.ts';
import { headerBytes } from '../../client/files/header.ts';
import { tagBytes } from '../../client/crypto/aes-gcm.ts';
import { verifyProof } from '../../client/proofs/verify-proof.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import { pathOf } from '../support/client/recording-fetch.ts';
import { connect, createUser } from '../support/client/user.ts';

const vault = sharedVault();
const { session, masterKey, credentials } = await createUser(vault);

const evidence = {
  source: blobSource(new Blob(['what was agreed'])),
  name: 'Vertrag über Nüsse.pdf',
  mediaType: 'application/pdf',
};

test('a sealed document has a proof that verifies without the vault', async (t) => {
  const document = await session.storeDocument({ ...evidence, masterKey });
  t.is(await session.documents.hash(document.id), document.fileHash);
  const { proof } = await session.certifyDocument(document.id);

  const keys = await connect(vault).auditKeys();
  const trustedKeys = keys
    .filter(({ purpose }) => purpose === 'audit')
    .map(({ fingerprint }) => fingerprint);
  t.true(verifyProof(proof, { trustedKeys }).valid);
  t.like(JSON.parse(proof.entryCanonical), {
    action: 'document.sealed',
    resource: { id: document.id },
    data: { fileHash: document.fileHash },
  });
  t.true((await session.proofs.verify(proof.id)).valid);
  t.true((await session.proofs.verifyExternal(proof)).valid);
});

test('a second login opens the metadata with nothing but the password', async (t) => {
  const { id } = await session.storeDocument({ ...evidence, masterKey });

  const account = (await openAccount(connect(vault), credentials)) ?? t.fail();
  const { encryptedMetadata } = await account.session.documents.get(id);
  const expected = { documentId: id };
  const { metadata } = await decryptMetadata(account.masterKey, expected, encryptedMetadata);
  t.like(metadata, { name: evidence.name, mediaType: evidence.mediaType, size: 15 });
});

test('a wrong password is refused', async (t) => {
  const login = connect(vault).login({ ...credentials, password: 'a guess' });
  await t.throwsAsync(login, { name: 'VaultError', code: 'invalid_proof' });
});

test('a server that cannot prove that it knows the verifier is refused', async (t) => {
  const client = connect(vault, async (input, init) => {
    const response = await fetch(input, init);
    if (pathOf(input) !== '/v1/auth/login/verify') return response;
    const body = (await response.json()) as object;
    return Response.json({ ...body, M2: '00'.repeat(32) });
  });
  await t.throwsAsync(client.login(credentials), { code: 'server_proof_invalid' });
});

test('certifying again returns the same proof', async (t) => {
  const { id } = await session.storeDocument({ ...evidence, masterKey });
  const seal = await session.certifyDocument(id);
  t.deepEqual(await session.certifyDocument(id), seal);
});

test('an empty file can be stored and sealed', async (t) => {
  const source = blobSource(new Blob([]));
  const document = await session.storeDocument({ ...evidence, source, masterKey });
  const { proof } = await session.certifyDocument(document.id);
  const { entryCanonical } = proof;
  t.like(JSON.parse(entryCanonical), { data: { size: headerBytes + tagBytes } });
});
