import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import * as fc from 'fast-check';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { bytesOf, upload } from '../../support/documents/files.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { documentAt } from '../../support/documents/documents.ts';
import { insertNamed, keyword, search, searchIds, searchPages, type Search } from './searching.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const [a, b, c] = [keyword(1), keyword(2), keyword(3)];
const hash = fc.integer({ min: 0, max: 7 }).map(keyword);
const searchOf = fc
  .record({
    all: fc.option(fc.array(hash, { maxLength: 4 }), { nil: undefined }),
    any: fc.option(fc.array(hash, { maxLength: 4 }), { nil: undefined }),
    limit: fc.integer({ min: 1, max: 12 }),
  })
  .filter(({ all = [], any = [] }) => all.length + any.length > 0);

function isMatch(hashes: readonly string[], { all = [], any = [] }: Search): boolean {
  const hasAny = any.length === 0 || any.some((one) => hashes.includes(one));
  return hasAny && all.every((one) => hashes.includes(one));
}

test('a search returns the matches of all and any, newest first, each once', async (t) => {
  const { sql, vault } = t.context;
  const property = fc.asyncProperty(
    fc.array(fc.uniqueArray(hash), { minLength: 1, maxLength: 40 }),
    fc.array(searchOf, { minLength: 1, maxLength: 6 }),
    async (lists, searches) => {
      const api = await createApi(vault);
      const ids = await insertNamed(sql, api.caller, lists);
      for (const { limit, ...wanted } of searches) {
        const expected = ids.filter((_, i) => isMatch(lists[i] ?? [], wanted)).toReversed();
        const pages = await searchPages(api, wanted, limit);
        t.deepEqual(pages.flat(), expected);
        t.true(pages.slice(0, -1).every((page) => page.length === limit));
      }
    },
  );
  await fc.assert(property, { numRuns: 25 });
});

test('a search returns the four fields of a list, at both paths', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const [id] = await insertNamed(sql, api.caller, [[a]]);
  const list = (await api.send('GET', '/v1/documents')).body as unknown;
  for (const path of ['/v1/documents/search', '/api/v1/documents/search']) {
    const { status, headers, body } = await api.send('POST', path, { json: { any: [a] } });
    t.is(status, 200);
    t.is(headers.get('link'), null);
    t.deepEqual(body as unknown, list);
    t.like(body, [{ id, status: 'PENDING' }]);
  }
});

test('a document is found by its keywords until it is deleted', async (t) => {
  const api = await createApi(t.context.vault);
  const { fileKey } = await upload(t, api, bytesOf(100));
  const { body } = await api.send('POST', '/v1/documents', {
    json: { ...documentAt(fileKey), keywordDeterministic: [a, b] },
  });
  const searches: Search[] = [
    { all: [a] },
    { all: [a, b] },
    { any: [a, c] },
    { all: [a], any: [b] },
  ];
  for (const wanted of searches) t.deepEqual(await searchIds(t, api, wanted), [body.id]);
  t.is((await api.send('DELETE', `/v1/documents/${String(body.id)}`)).status, 204);
  for (const wanted of searches) t.deepEqual(await searchIds(t, api, wanted), []);
});

test('a search finds only the caller’s own documents, and no shared ones', async (t) => {
  const { sql, vault } = t.context;
  const [api, recipient] = [await createApi(vault), await createApi(vault)];
  const elsewhere = await createApi(vault, { userId: api.caller.userId, tenantId: 'other' });
  const [id] = await insertNamed(sql, api.caller, [[a, b]]);
  await sql(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref,
       recipient_user_id, wrapped_key, permissions)
     values ($1, $2, $3, $4, $5, $6, 'key', '{read}')`,
    [
      randomUUID(),
      api.caller.userId,
      api.caller.tenantId,
      id,
      randomUUID(),
      recipient.caller.userId,
    ],
  );
  t.is((await recipient.send('GET', `/v1/documents/${id}`)).status, 200);
  for (const wanted of [{ all: [a] }, { all: [a, b] }, { any: [a, b] }, { all: [a], any: [b] }]) {
    t.deepEqual(await searchIds(t, api, wanted), [id]);
    t.deepEqual(await searchIds(t, recipient, wanted), []);
    t.deepEqual(await searchIds(t, elsewhere, wanted), []);
  }
});

test('a search takes 1 to 50 keywords of each kind, as 64 lowercase hex digits', async (t) => {
  const api = await createApi(t.context.vault);
  const many = Array.from({ length: 51 }, (_, i) => keyword(i));
  const refused: [unknown, string][] = [
    [{}, ''],
    [{ all: [], any: [] }, ''],
    [{ all: many }, 'all'],
    [{ any: many }, 'any'],
    [{ any: Array.from({ length: 51 }, () => a) }, 'any'],
    [{ all: a }, 'all'],
    [{ all: null, any: [a] }, 'all'],
    [{ all: [a.slice(1)] }, 'all.0'],
    [{ all: [a, `${a}0`] }, 'all.1'],
    [{ any: [keyword(10).toUpperCase()] }, 'any.0'],
    [{ any: ['g'.repeat(64)] }, 'any.0'],
    [{ any: [7] }, 'any.0'],
    [{ all: [a], none: [b] }, 'none'],
  ];
  for (const [json, path] of refused) {
    const { status, body } = await search(api, json);
    t.is(status, 400, JSON.stringify(json).slice(0, 80));
    t.is(body.code, 'validation_failed');
    const paths = (body.details as { readonly path: string }[]).map((detail) => detail.path);
    t.deepEqual([...new Set(paths)], [path]);
  }
  t.is((await search(api, [a])).status, 400);
  const most = many.slice(1);
  t.deepEqual(await searchIds(t, api, { all: most, any: most }), []);
});

test('an invalid limit or cursor is refused; a page has 100 documents by default', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  for (const query of ['limit=0', 'limit=1001', 'limit=', 'cursor=1', 'offset=10']) {
    t.is((await search(api, { any: [a] }, `?${query}`)).status, 400, query);
  }
  const lists = Array.from({ length: 101 }, () => [a, b]);
  const ids = (await insertNamed(sql, api.caller, lists)).toReversed();
  for (const wanted of [{ any: [a] }, { all: [a, b] }]) {
    t.deepEqual(await searchIds(t, api, wanted), ids.slice(0, 100));
    t.deepEqual(await searchIds(t, api, wanted, '?limit=1000'), ids);
    const { headers } = await search(api, wanted);
    const next = `<?limit=100&cursor=${ids[99]}>; rel="next"`;
    t.is(headers.get('link'), next);
  }
});

test('pages have no gaps or repetitions while documents are created and deleted', async (t) => {
  const { sql, vault } = t.context;
  for (const wanted of [{ any: [a, b, c] }, { all: [a, b] }, { all: [a], any: [b, c] }]) {
    const api = await createApi(vault);
    const lists = Array.from({ length: 250 }, (_, i) => (i % 3 === 0 ? [a, b, c] : [a, b]));
    const ids = (await insertNamed(sql, api.caller, lists)).toReversed();
    const doomed = ids[125];
    const pages = await searchPages(api, wanted, 50, async () => {
      await insertNamed(sql, api.caller, [[a, b, c], [a, b], [c]]);
      await sql('delete from documents where id = $1', [doomed]);
    });
    t.deepEqual(
      pages.flat(),
      ids.filter((id) => id !== doomed),
    );
  }
});
