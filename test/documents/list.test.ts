import anyTest, { type TestFn } from 'ava';
import { nextCursor } from '../../client/http/pages.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { createApi, type Api } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { certify, storeDocument } from '../support/documents/documents.ts';
import { insertDocuments } from '../support/documents/rows.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

/** Reads all pages of ids by following the links. */
async function readPages(api: Api, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  let path: string | undefined = `/v1/documents?limit=${limit}`;
  while (path !== undefined) {
    const { headers, body } = await api.send('GET', path);
    pages.push((body as unknown as { readonly id: string }[]).map(({ id }) => id));
    const cursor = nextCursor(headers.get('link'));
    path = cursor === undefined ? undefined : `/v1/documents?limit=${limit}&cursor=${cursor}`;
  }
  return pages;
}

test('a list is read page by page, newest first, without gaps or repetitions', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const ids = await insertDocuments(sql, api.caller, 25);
  await insertDocuments(sql, (await createApi(vault)).caller, 3);
  const sizes: [number, number[]][] = [
    [10, [10, 10, 5]],
    [5, [5, 5, 5, 5, 5]],
    [24, [24, 1]],
    [25, [25]],
    [1000, [25]],
  ];
  for (const [limit, expected] of sizes) {
    const pages = await readPages(api, limit);
    t.deepEqual(pages.flat(), ids);
    t.deepEqual(
      pages.map((page) => page.length),
      expected,
    );
  }
});

test('documents created or deleted between two pages shift no others', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const ids = await insertDocuments(sql, api.caller, 6);
  const first = await api.send('GET', '/v1/documents?limit=3');
  await insertDocuments(sql, api.caller, 2);
  await sql('delete from documents where id = $1', [ids[2]]);
  const cursor = nextCursor(first.headers.get('link'));
  const { body } = await api.send('GET', `/v1/documents?limit=3&cursor=${cursor}`);
  t.deepEqual(
    (body as unknown as { readonly id: string }[]).map(({ id }) => id),
    ids.slice(3),
  );
});

test('items have four fields, pages 100 items by default, and a list may be empty', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  t.deepEqual((await api.send('GET', '/v1/documents')).body as unknown, []);
  await insertDocuments(sql, api.caller, 101);
  const { body } = await api.send('GET', '/api/v1/documents');
  const items = body as unknown as object[];
  t.is(items.length, 100);
  t.deepEqual(Object.keys(items[0] ?? {}).sort(), [
    'createdAt',
    'encryptedMetadata',
    'id',
    'status',
  ]);
});

test('an invalid limit or cursor is refused', async (t) => {
  const api = await createApi(t.context.vault);
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=-1',
    'limit=1.5',
    'limit=',
    'limit=10&limit=20',
    'cursor=1',
    'cursor=',
    'offset=10',
  ]) {
    t.is((await api.send('GET', `/v1/documents?${query}`)).status, 400, query);
  }
});

test('a document of another user or tenant is not found by any route', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const strangers = [
    await createApi(vault),
    await createApi(vault, { userId: api.caller.userId, tenantId: 'other' }),
    await createApi(vault, { roles: ['user', 'auditor', 'operator'] }),
  ];
  for (const stranger of strangers) {
    for (const { status, body } of [
      await stranger.send('GET', `/v1/documents/${id}`),
      await stranger.send('GET', `/v1/documents/${id}/hash`),
      await stranger.send('DELETE', `/v1/documents/${id}`),
      await certify(stranger, id),
    ]) {
      t.is(status, 404);
      t.is(body.code, 'not_found');
    }
    t.deepEqual((await stranger.send('GET', '/v1/documents')).body as unknown, []);
  }
  t.is((await api.send('GET', `/v1/documents/${id}`)).status, 200);
  t.is((await api.send('GET', `/v1/documents/${id.toUpperCase()}`)).status, 200);
  t.is((await api.send('GET', '/v1/documents/7')).status, 400);
});
