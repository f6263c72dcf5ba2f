import { randomBytes, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import test from 'ava';
import { z } from 'zod';
import { openAccount } from '../../client/demo/steps/account.ts';
import { commitmentOf } from '../../client/content/commitment.ts';
import { readCommitment, verifyOriginal } from '../../client/disclosure/verify-original.ts';
import { changeMetadata, type MetadataChange } from '../../client/documents/change-metadata.ts';
import { decryptMetadata } from '../../client/documents/metadata.ts';
import { openDocument, openVersion } from '../../client/documents/open-document.ts';
import { searchDocuments } from '../../client/documents/search-documents.ts';
import { deriveFileKey } from '../../client/keys/document-key.ts';
import { blobSource } from '../../client/files/byte-source.ts';
import { decryptStream } from '../../client/files/decryption.ts';
import { AuditProof } from '../../client/proofs/proof-format.ts';
import { verifyProof } from '../../client/proofs/verify-proof.ts';
import { collect, gather } from '../support/client/collect.ts';
import { connect, createUser } from '../support/client/user.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { untilMail } from '../support/accounts/mailbox.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { startLyingVault } from './lying-vault.ts';
import {
  askClient,
  keepFile,
  readAuditKeyId,
  rekeyByTypeScript,
  runClient,
  type Options,
} from './python-client.ts';
import { readStoredFile } from './stored-file.ts';

const vault = await startReadyVault();
const { credentials, session, masterKey } = await createUser(vault);
test.after.always(() => vault.stop());

const segmentBytes = 1_048_576;
/** A file of three chunks: the middle one full, the last one of one byte. */
const evidence = randomBytes(2 * segmentBytes - 84 - 2 * 16 + 1);
const name = 'Vertrag über „Nüsse“ 🥜.pdf';
const mediaType = 'application/pdf';

const Account = z.object({ fingerprint: z.string() });
const Sealed = z.object({
  documentId: z.uuid(),
  fileHash: z.string(),
  proof: AuditProof,
  openings: z.array(z.unknown()),
});
const Proven = z.object({ whole: z.boolean(), ranges: z.array(z.array(z.int())) });
const Documents = z.object({
  documents: z.array(z.object({ id: z.uuid(), status: z.string(), metadata: z.unknown() })),
});
const OpenFile = z.object({ size: z.int() });

const newCredentials = () => ({
  email: `${randomUUID()}@vault.test`,
  password: `pÄss ${randomUUID()}`,
});

test('the TypeScript client opens what the Python client seals', async (t) => {
  const credentials = newCredentials();
  const mail = vault.mailDirectory;
  await askClient(t, Account, vault, credentials, 'create-account', { mail });
  const file = join(await temporaryDirectory(t), name);
  await writeFile(file, evidence);
  const sealed = await askClient(t, Sealed, vault, credentials, 'seal', {
    file,
    'media-type': mediaType,
    'audit-key': await readAuditKeyId(vault),
    keyword: ['Nüsse', ' nüsse ', 'Vertrag'],
    segment: '1',
  });
  t.true(verifyProof(sealed.proof, { trustedKeys: [await readAuditKeyId(vault)] }).valid);

  const account = (await openAccount(connect(vault), credentials)) ?? t.fail();
  const document = await account.session.documents.get(sealed.documentId);
  const { documentId, fileHash } = sealed;
  const { documentKey, metadata, place } = await decryptMetadata(
    account.masterKey,
    { documentId },
    document.encryptedMetadata,
  );
  const keywords = ['nüsse', 'vertrag'];
  const { content, ...described } = metadata;
  t.deepEqual(described, { name, mediaType, size: evidence.length, fileHash, keywords });
  t.is(readCommitment(sealed.proof), await commitmentOf(metadata));
  t.deepEqual(sealed.openings[0], { v: 1, ...content, size: evidence.length });
  t.deepEqual(place, { documentId, version: 1, change: 0, previous: null, keyGeneration: 1 });
  const fileKey = await deriveFileKey({ documentKey }, place);
  const encrypted = Readable.from([await readStoredFile(vault, fileHash)]);
  t.deepEqual(Buffer.from(await collect(decryptStream(fileKey, encrypted))), evidence);
});

test('both clients verify originals by the openings that the other one makes', async (t) => {
  const keyId = await readAuditKeyId(vault);
  const directory = await temporaryDirectory(t);
  const paths = {
    original: join(directory, 'original'),
    proof: join(directory, 'proof.json'),
    opening: join(directory, 'opening.json'),
  };
  await writeFile(paths.original, evidence);
  const python = await askClient(t, Sealed, vault, credentials, 'seal', {
    file: paths.original,
    'media-type': mediaType,
    'audit-key': keyId,
    segment: '1',
  });
  const source = blobSource(new Blob([evidence]));
  for (const [place, opening] of python.openings.entries()) {
    const { proof } = python;
    const verdict = await verifyOriginal({ proof, opening, source, trustedKeys: [keyId] });
    t.like(verdict, { valid: true, proven: { kind: place === 0 ? 'whole' : 'segments' } });
  }

  const document = await session.storeDocument({ source, name, mediaType, masterKey });
  await session.certifyDocument(document.id);
  const full = await session.disclose(document.id);
  const some = await session.disclose(document.id, { segments: [0, 1] });
  const made = { document: document.id };
  t.deepEqual(await askClient(t, z.unknown(), vault, credentials, 'disclose', made), full.opening);
  for (const { proof, opening } of [full, some]) {
    await writeFile(paths.proof, JSON.stringify(proof));
    await writeFile(paths.opening, JSON.stringify(opening));
    const given = { ...paths, 'audit-key': keyId };
    const { whole } = await askClient(t, Proven, vault, credentials, 'check-original', given);
    t.is(whole, opening === full.opening);
    await writeFile(paths.original, evidence.subarray(1));
    t.is((await runClient(vault, credentials, 'check-original', given)).code, 1);
    await writeFile(paths.original, evidence);
  }
});

test('the Python client opens what the TypeScript client seals', async (t) => {
  const sources = [new Blob([evidence]), new Blob([])].map(blobSource);
  const sealed = [];
  for (const source of sources) {
    const document = await session.storeDocument({ source, name, mediaType, masterKey });
    await session.certifyDocument(document.id);
    const { metadata } = await openDocument(session, { id: document.id, masterKey });
    sealed.push({ ...document, content: metadata.content });
  }

  const { documents } = await askClient(t, Documents, vault, credentials, 'documents', {
    'page-size': '1',
  });
  const ids = new Set(sealed.map(({ id }) => id));
  t.deepEqual(
    documents.filter(({ id }) => ids.has(id)),
    sealed.toReversed().map(({ id, fileHash, content }, index) => {
      const size = [0, evidence.length][index];
      const metadata = { name, mediaType, size, fileHash, keywords: [], content };
      return { id, status: 'SEALED', metadata };
    }),
  );

  const directory = await temporaryDirectory(t);
  const paths = { encrypted: join(directory, 'encrypted'), opened: join(directory, 'opened') };
  for (const [index, plaintext] of [evidence, Buffer.alloc(0)].entries()) {
    const { id, fileHash } = sealed[index] ?? t.fail();
    await writeFile(paths.encrypted, await readStoredFile(vault, fileHash));
    await askClient(t, OpenFile, vault, credentials, 'open-file', {
      document: id,
      encrypted: paths.encrypted,
      output: paths.opened,
    });
    t.deepEqual(await readFile(paths.opened), plaintext);
  }
});

test('the Python client refuses an e-mail about another person’s registration', async (t) => {
  const credentials = newCredentials();
  const stranger = { ...credentials, password: randomUUID() };
  const { fingerprint } = await connect(vault).register(stranger);
  const { token } = await untilMail(vault.mailDirectory, credentials.email);
  const mail = await temporaryDirectory(t);
  const lines = [`To: ${credentials.email}`, '', `Fingerprint: ${fingerprint}`, `Token: ${token}`];
  await writeFile(join(mail, '1.eml'), lines.join('\n'));

  const { code, errors } = await runClient(vault, credentials, 'create-account', { mail });
  t.is(code, 1);
  t.regex(errors, /somebody else registered this e-mail address/);
  await t.throwsAsync(connect(vault).login(stranger), { code: 'user_not_found' });
});

test('the Python client is refused with a wrong password, and refuses a lying vault', async (t) => {
  const guess = { ...credentials, password: 'a guess' };
  const guessed = await runClient(vault, guess, 'documents');
  t.is(guessed.code, 1);
  t.regex(guessed.errors, /401 invalid_proof/);

  const lying = await startLyingVault(t, vault.baseUrl);
  const misled = await runClient(lying, credentials, 'documents');
  t.is(misled.code, 1);
  t.regex(misled.errors, /the server's proof is wrong/);
  t.is(lying.authorized, 0);
});

test('the Python client refuses a proof under an untrusted key', async (t) => {
  const file = join(await temporaryDirectory(t), 'evidence');
  await writeFile(file, 'what was agreed');
  const { code, errors } = await runClient(vault, credentials, 'seal', {
    file,
    'media-type': 'text/plain',
    'audit-key': '00'.repeat(16),
  });
  t.is(code, 1);
  t.regex(errors, /the key is not the trusted one/);
});

const Versions = z.array(z.object({ version: z.int(), metadata: z.object({ name: z.string() }) }));
const Stored = z.object({ documentId: z.uuid() });
const Changed = z.object({
  change: z.int(),
  metadata: z.object({ name: z.string(), keywords: z.array(z.string()) }),
});

test('both clients read metadata that the other one changed, also after a rekey', async (t) => {
  const account = await createUser(vault);
  const user = account.credentials;
  const file = await keepFile(t, 'the first version');
  const stored = { file, 'media-type': 'text/plain', keyword: 'Vertrag' };
  const { documentId: id } = await askClient(t, Stored, vault, user, 'store', stored);
  const changeByPython = (options: Options) =>
    askClient(t, Changed, vault, user, 'change-metadata', { document: id, ...options });
  const own = { ...account, keys: await account.session.envelopes.openMasterKeys() };
  const open = () => openDocument(own.session, { id, ...own.keys });
  const change = (changed: Partial<MetadataChange>) =>
    changeMetadata(own.session, { id, ...own.keys, ...changed });
  const find = (keyword: string) =>
    gather(searchDocuments(own.session, { ...own.keys, all: [keyword] }));

  await changeByPython({ name: 'renamed by Python', keyword: ['Nüsse', 'Birnen'] });
  const first = await open();
  t.like(first.metadata, { name: 'renamed by Python', keywords: ['birnen', 'nüsse'] });
  t.deepEqual(first.place, { ...first.place, version: 1, change: 1, keyGeneration: 1 });
  t.deepEqual([(await find('NÜSSE')).length, (await find('Vertrag')).length], [1, 0]);
  await change({ keywords: ['Äpfel'] });
  const second = await changeByPython({ name: 'again' });
  t.is(second.change, 3);
  t.deepEqual(second.metadata.keywords, ['äpfel']);
  t.is((await find('äpfel'))[0]?.metadata.name, 'again');

  await rekeyByTypeScript(own.session, user);
  own.keys = await own.session.envelopes.openMasterKeys();
  await changeByPython({ name: 'under the next master key' });
  t.like((await open()).place, { version: 1, change: 4, keyGeneration: 0 });
  t.is((await find('äpfel')).length, 1);

  const next = await keepFile(t, 'the second version');
  await askClient(t, z.unknown(), vault, user, 'add-version', { document: id, file: next });
  await changeByPython({ name: 'under the next document key' });
  const third = await open();
  t.like(third.place, { version: 2, change: 1, keyGeneration: 2 });
  t.notDeepEqual(third.documentKey, first.documentKey);
  const before = await openVersion(own.session, { id, ...own.keys, version: 1 });
  t.is(before.metadata.name, 'under the next master key');
  await change({ name: 'by TypeScript' });
  t.is((await changeByPython({ keyword: 'Quitten' })).metadata.name, 'by TypeScript');
  const fourth = await open();
  t.like(fourth.place, { version: 2, change: 3, keyGeneration: 2 });
  await openVersion(own.session, { id, ...own.keys, version: 1 });
  const versions = await askClient(t, Versions, vault, user, 'versions', { document: id });
  t.deepEqual(
    versions.map(({ version, metadata }) => [version, metadata.name]),
    [
      [2, 'by TypeScript'],
      [1, 'under the next master key'],
    ],
  );
});
