import { createHash, randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { certify, documentAt, metadata, storeDocument } from '../../support/documents/documents.ts';
import { bytesOf, upload } from '../../support/documents/files.ts';
import { createPerson, entriesOf } from '../../support/documents/people.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { documentPart, filePart, formOf, sendForm } from '../form-upload/forms.ts';

const test = anyTest as TestFn<{ vault: Vault }>;

test.before((t) => {
  t.context.vault = sharedVault();
});

interface Entry {
  readonly action: string;
  readonly data: Readonly<Record<string, unknown>>;
}

async function dataOf(vault: Vault, id: string): Promise<[string, Entry['data']][]> {
  const entries = (await entriesOf(vault, id)) as Entry[];
  return entries.map(({ action, data }) => [action, data]);
}

test('the entries of a version carry its content commitment', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const [one, two] = [1, 2].map(() => randomBytes(32).toString('hex'));
  const { fileKey } = await upload(t, api, bytesOf(100));
  const json = { ...documentAt(fileKey), contentCommitment: one };
  const { status, body } = await api.send('POST', '/v1/documents', { json });
  t.is(status, 201);
  const id = String(body.id);
  t.is((await certify(api, id)).status, 200);
  const { fileKey: storagePath } = await upload(t, api, bytesOf(101));
  const next = { storagePath, contentCommitment: two };
  t.is((await api.send('POST', `/v1/documents/${id}/versions`, { json: next })).status, 201);
  t.is((await certify(api, id)).status, 200);
  const found = await dataOf(vault, id);
  t.deepEqual(
    found.map(([action, data]) => [action, data['contentCommitment']]),
    [
      ['document.created', one],
      ['document.sealed', one],
      ['document.version_added', two],
      ['document.sealed', two],
    ],
  );
});

test('a document that was uploaded as a form carries its content commitment', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const contentCommitment = randomBytes(32).toString('hex');
  const fields = { encryptedMetadata: metadata, keywordDeterministic: [], contentCommitment };
  const { status, body } = await sendForm(api, formOf(documentPart(fields), filePart(bytesOf(10))));
  t.is(status, 201, JSON.stringify(body));
  const [created] = await dataOf(vault, String(body.id));
  t.is(created?.[1]['contentCommitment'], contentCommitment);
});

test('a version without a commitment has entries without one', async (t) => {
  const { vault } = t.context;
  const { api } = await createPerson(vault);
  const { id, fileHash } = await storeDocument(t, api);
  await certify(api, id);
  const metadataHash = createHash('sha3-256').update(metadata, 'base64').digest('hex');
  t.deepEqual(await dataOf(vault, id), [
    ['document.created', { fileHash, size: 100 }],
    ['document.sealed', { version: 1, fileHash, size: 100, metadataHash }],
  ]);
});

test('a commitment is 64 lower-case hex digits', async (t) => {
  const { api } = await createPerson(t.context.vault);
  const { fileKey } = await upload(t, api, bytesOf(100));
  const digest = 'ab'.repeat(32);
  for (const contentCommitment of [
    '',
    digest.slice(1),
    `${digest}0`,
    digest.toUpperCase(),
    1,
    {},
  ]) {
    const json = { ...documentAt(fileKey), contentCommitment };
    const { status, body } = await api.send('POST', '/v1/documents', { json });
    t.is(status, 400);
    t.is(body.code, 'validation_failed', JSON.stringify(contentCommitment));
  }
  const { status } = await api.send('POST', '/v1/documents', { json: documentAt(fileKey) });
  t.is(status, 201, 'nothing was kept of the refused ones');
});
