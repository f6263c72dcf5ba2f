import test from 'ava';
import { addVersion } from '../../../client/documents/add-version.ts';
import { changeMetadata } from '../../../client/documents/change-metadata.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { searchDocuments } from '../../../client/documents/search-documents.ts';
import { downloadDocument } from '../../../client/downloads/download.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import { collect, gather } from '../../support/client/collect.ts';
import { pathOf } from '../../support/client/recording-fetch.ts';
import { sourceOf, storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';

const vault = sharedVault();
let loseChanges = false;
const user = await createUser(
  vault,
  connect(vault, async (input, init) => {
    const response = await fetch(input, init);
    if (!loseChanges || !pathOf(input).endsWith('/metadata') || !response.ok) return response;
    throw new TypeError('the connection broke');
  }),
);
const { masterKey, session } = user;
const tools = toolsOf(session);

const conflict = { name: 'ClientError', code: 'version_conflict' };

test.serial('changed metadata is read back, and unchanged fields stay', async (t) => {
  const { document, bytes } = await storeBytes(user, 10, { name: 'draft', keywords: ['a'] });
  const { id } = document;
  const before = await openDocument(tools, { id, masterKey });
  const { etag } = await changeMetadata(tools, { id, masterKey, name: 'final' });
  const after = await openDocument(tools, { id, masterKey });
  t.deepEqual(after.metadata, { ...before.metadata, name: 'final' });
  t.is(after.etag, etag);
  t.not(after.etag, before.etag);
  t.deepEqual(await collect(downloadDocument(tools, { id, masterKey })), new Uint8Array(bytes));
  t.is((await gather(searchDocuments(tools, { masterKey, all: ['a'] }))).length, 1);
});

test.serial('new keywords replace all earlier ones', async (t) => {
  const { document } = await storeBytes(user, 10, { keywords: ['old', 'older'] });
  await changeMetadata(tools, { id: document.id, masterKey, keywords: ['new'] });
  const find = async (keyword: string) =>
    (await gather(searchDocuments(tools, { masterKey, all: [keyword] }))).map(({ id }) => id);
  t.deepEqual(await find('new'), [document.id]);
  t.deepEqual(await find('old'), []);
});

test.serial('the second of two clients that change the same version gets a conflict', async (t) => {
  const { document } = await storeBytes(user, 10);
  const { id } = document;
  const { etag } = await session.documents.getRevised(id);
  await changeMetadata(tools, { id, masterKey, name: 'first', ifMatch: etag });
  const second = changeMetadata(tools, { id, masterKey, name: 'second', ifMatch: etag });
  await t.throwsAsync(second, conflict);
  t.is((await openDocument(tools, { id, masterKey })).metadata.name, 'first');

  const seen = await session.documents.getRevised(id);
  await addVersion(tools, { id, masterKey, source: sourceOf(Buffer.from('newer')) });
  const third = changeMetadata(tools, { id, masterKey, name: 'third', ifMatch: seen.etag });
  await t.throwsAsync(third, conflict);
});

test.serial('the metadata of a sealed document cannot be changed', async (t) => {
  const { document } = await storeBytes(user, 10);
  await session.certifyDocument(document.id);
  const change = changeMetadata(tools, { id: document.id, masterKey, name: 'other' });
  await t.throwsAsync(change, { name: 'VaultError', code: 'document_sealed' });
});

test.serial('a change whose response was lost does not conflict with itself', async (t) => {
  const { document } = await storeBytes(user, 10);
  const { id } = document;
  loseChanges = true;
  const changed = await changeMetadata(tools, { id, masterKey, name: 'kept' });
  const { etag, metadata } = await openDocument(tools, { id, masterKey });
  t.is(metadata.name, 'kept');
  t.is(changed.etag, etag);
});
