import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { bytesOf, countStatuses, upload } from '../support/documents/files.ts';
import { documentAt, removeDocument, storeDocument } from '../support/documents/documents.ts';
import { createApi, type Answer, type Api } from '../support/documents/uploads.ts';
import { nextPage } from '../support/http/next-page.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import { documentPart, filePart, formOf, sendForm } from './form-upload/forms.ts';
import { search } from './search/searching.ts';

const keyword = 'ab'.repeat(32);

async function createAs(t: ExecutionContext, api: Api, id: unknown): Promise<Answer> {
  const { fileKey } = await upload(t, api, bytesOf(100));
  const json = { ...documentAt(fileKey), keywordDeterministic: [keyword], id };
  return api.send('POST', '/v1/documents', { json });
}

function formAs(api: Api, id: string): Promise<Answer> {
  const { storagePath: _path, ...field } = documentAt('');
  return sendForm(api, formOf(documentPart({ ...field, id }), filePart(bytesOf(50))));
}

function assertTaken(t: ExecutionContext, { status, body }: Answer): void {
  t.is(status, 409, JSON.stringify(body));
  t.is(body.code, 'document_exists');
}

test('a document has the id that its client chose, in lower case', async (t) => {
  const api = await createApi(sharedVault());
  const [one, other] = [randomUUID(), randomUUID()];
  const created = await createAs(t, api, one.toUpperCase());
  t.is(created.status, 201, JSON.stringify(created.body));
  t.is(created.body.id, one);
  t.is((await api.send('GET', `/v1/documents/${one}`)).body.id, one);
  const uploaded = await formAs(api, other);
  t.is(uploaded.status, 201, JSON.stringify(uploaded.body));
  t.is(uploaded.body.id, other);
});

test('an id that any document has or had is refused, for everyone and in both ways', async (t) => {
  const vault = sharedVault();
  const [api, stranger] = [await createApi(vault), await createApi(vault)];
  const elsewhere = await createApi(vault, { userId: api.caller.userId, tenantId: 'other' });
  const { id } = await storeDocument(t, api);
  const refuses = async () => {
    for (const each of [api, stranger, elsewhere]) {
      assertTaken(t, await createAs(t, each, id));
      assertTaken(t, await formAs(each, id));
    }
  };
  await refuses();
  t.is((await removeDocument(api, id)).status, 204);
  await refuses();
  t.is((await api.send('GET', `/v1/documents/${id}`)).status, 404);
});

test('a refused id leaves nothing, and its file can become a document', async (t) => {
  const api = await createApi(sharedVault());
  const { id: taken } = await storeDocument(t, api);
  const { fileKey } = await upload(t, api, bytesOf(100));
  const json = documentAt(fileKey);
  assertTaken(t, await api.send('POST', '/v1/documents', { json: { ...json, id: taken } }));
  const id = randomUUID();
  const created = await api.send('POST', '/v1/documents', { json: { ...json, id } });
  t.is(created.status, 201, JSON.stringify(created.body));
  t.is(created.body.id, id);
});

test('of concurrent creations with one id, one succeeds', async (t) => {
  const vault = sharedVault();
  const apis = await Promise.all(Array.from({ length: 8 }, () => createApi(vault)));
  const id = randomUUID();
  const answers = await Promise.all(apis.map((api) => createAs(t, api, id)));
  t.deepEqual(countStatuses(answers), { 201: 1, 409: 7 });
});

test('lists and searches are in the order of creation, whatever the ids', async (t) => {
  const api = await createApi(sharedVault());
  const ids = [
    'ffffffff-ffff-4fff-bfff-ffffffffffff',
    '00000000-0000-4000-8000-000000000001',
    undefined,
    'ffffffff-ffff-7fff-bfff-ffffffffffff',
    randomUUID(),
  ].map((id) => id?.replace(/.{12}$/, randomUUID().slice(-12)));
  const made: unknown[] = [];
  for (const id of ids) made.unshift((await createAs(t, api, id)).body.id);
  const idsOf = (answer: Answer) =>
    (answer.body as unknown as { readonly id: string }[]).map((item) => item.id);
  t.deepEqual(idsOf(await api.send('GET', '/v1/documents')), made);
  t.deepEqual(idsOf(await search(api, { all: [keyword] })), made);

  const pages: string[] = [];
  let path: string | undefined = '/v1/documents?limit=2';
  while (path !== undefined) {
    const page: Answer = await api.send('GET', path);
    pages.push(...idsOf(page));
    path = nextPage(path, page.headers);
  }
  t.deepEqual(pages, made);
});

test('an id that is no UUID is refused', async (t) => {
  const api = await createApi(sharedVault());
  for (const id of ['', 'x', 7, null, [randomUUID()], `${randomUUID()}0`]) {
    const { status, body } = await createAs(t, api, id);
    t.is(status, 400, JSON.stringify(id));
    t.is(body.code, 'validation_failed');
  }
});
