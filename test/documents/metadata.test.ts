import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { createApi, type Api } from '../support/documents/uploads.ts';
import { countStatuses, sha3 } from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import {
  certify,
  etagOf,
  getDocument,
  metadata,
  metadataOf,
  replaceMetadata,
  storeDocument,
  storeVersion,
} from '../support/documents/documents.ts';
import { actionsOn, expireDocument } from '../support/documents/rows.ts';

const test = anyTest as TestFn<{ readonly vault: Vault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = sharedVault();
  t.context = { vault, sql: createSql(vault) };
});

const keyword = (digit: string) => digit.repeat(64);
const fresh = { encryptedMetadata: metadataOf('fresh') };

async function keywordsOf(sql: Sql, id: string): Promise<string[]> {
  const rows = await sql(
    'select keyword_hash from document_keywords where document_id = $1 order by 1',
    [id],
  );
  return rows.map(({ keyword_hash: hash }) => String(hash));
}

const replaceAny = (api: Api, id: string, ifMatch = '*') =>
  replaceMetadata(api, id, fresh, { 'If-Match': ifMatch });

test('metadata are replaced with the current ETag, and get a new one', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const before = await getDocument(api, id);
  t.is(before.headers.get('etag'), '"1"');
  const answer = await replaceAny(api, id, '"1"');
  t.is(answer.status, 200);
  t.is(answer.headers.get('etag'), '"2"');
  t.deepEqual(answer.body, { ...before.body, ...fresh });
  const after = await api.send('GET', `/api/v1/documents/${id}`);
  t.is(after.headers.get('etag'), '"2"');
  t.deepEqual(after.body, answer.body);
  const [entry] = await sql(
    `select canonical::json as entry from audit_entries
     where resource_id = $1 and action = 'document.metadata_changed'`,
    [id],
  );
  t.like(entry?.entry, {
    actor: { type: 'user', id: api.caller.userId },
    data: { version: 1, metadataHash: sha3(Buffer.from('fresh')) },
  });
});

test('metadata are not replaced without the current ETag', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const missing = await replaceMetadata(api, id, fresh, {});
  t.is(missing.status, 428);
  t.is(missing.body.code, 'precondition_required');
  for (const tag of ['"0"', '"2"', 'W/"1"', '"1', '1']) {
    const { status, body } = await replaceAny(api, id, tag);
    const isTag = tag.endsWith('"');
    t.is(status, isTag ? 412 : 400, tag);
    t.is(body.code, isTag ? 'precondition_failed' : 'invalid_request', tag);
  }
  t.is((await getDocument(api, id)).body.encryptedMetadata, metadata);
  t.is(await etagOf(api, id), '"1"');
  t.deepEqual(await actionsOn(sql, id), ['document.created']);
  t.is((await replaceAny(api, id, 'W/"1", "7", "1"')).status, 200);
  t.is((await replaceAny(api, id, '*')).status, 200);
});

test('every change of a document changes its ETag', async (t) => {
  const api = await createApi(t.context.vault);
  const { id } = await storeDocument(t, api);
  const seen = [await etagOf(api, id)];
  await replaceAny(api, id);
  seen.push(await etagOf(api, id));
  await storeVersion(t, api, id);
  seen.push(await etagOf(api, id));
  await certify(api, id);
  seen.push(await etagOf(api, id));
  t.deepEqual(seen, ['"1"', '"2"', '"3"', '"4"']);
});

test('metadata of a sealed or expired version cannot be replaced, with any ETag', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const sealed = await storeDocument(t, api);
  const { proofId } = (await certify(api, sealed.id)).body;
  const expired = await storeDocument(t, api);
  await expireDocument(sql, expired.id);
  const states = [
    { id: sealed.id, code: 'document_sealed', proofId },
    { id: expired.id, code: 'document_expired', proofId: undefined },
  ];
  for (const { id, code, proofId } of states) {
    const conditions: Record<string, string>[] = [{ 'If-Match': '*' }, { 'If-Match': '"0"' }, {}];
    for (const headers of conditions) {
      const { status, body } = await replaceMetadata(api, id, fresh, headers);
      t.is(status, 409);
      t.is(body.code, code);
      t.is(body.proofId, proofId);
    }
    t.is((await getDocument(api, id)).body.encryptedMetadata, metadata);
  }
  const { fileKey: _key } = await storeVersion(t, api, sealed.id);
  t.is((await replaceAny(api, sealed.id)).status, 200, 'the next version has metadata of its own');
  const [first] = await sql(
    'select encrypted_metadata from document_versions where document_id = $1 and version = 1',
    [sealed.id],
  );
  t.is(first?.['encrypted_metadata'], metadata);
});

test('keywords are replaced if the request has some, and kept otherwise', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const other = await storeDocument(t, api);
  const set = (documentId: string, keywordDeterministic: string[]) =>
    replaceMetadata(api, documentId, { ...fresh, keywordDeterministic }, { 'If-Match': '*' });
  t.is((await set(other.id, [keyword('a')])).status, 200);
  t.is((await set(id, [keyword('b'), keyword('a'), keyword('a')])).status, 200);
  t.deepEqual(await keywordsOf(sql, id), [keyword('a'), keyword('b')]);
  await replaceAny(api, id);
  t.deepEqual(await keywordsOf(sql, id), [keyword('a'), keyword('b')]);
  await set(id, [keyword('c')]);
  t.deepEqual(await keywordsOf(sql, id), [keyword('c')]);
  await set(id, []);
  t.deepEqual(await keywordsOf(sql, id), []);
  t.deepEqual(await keywordsOf(sql, other.id), [keyword('a')]);
});

test('one of twenty concurrent replacements with the same ETag succeeds', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const changes = Array.from({ length: 20 }, (_, i) => ({
    encryptedMetadata: metadataOf(`change ${i}`),
    keywordDeterministic: [i.toString(16).padStart(64, '0')],
  }));
  const answers = await Promise.all(
    changes.map((change) => replaceMetadata(api, id, change, { 'If-Match': '"1"' })),
  );
  t.deepEqual(countStatuses(answers), { 200: 1, 412: 19 });
  const won = changes[answers.findIndex(({ status }) => status === 200)];
  t.is((await getDocument(api, id)).body.encryptedMetadata, won?.encryptedMetadata);
  t.deepEqual(await keywordsOf(sql, id), won?.keywordDeterministic);
  t.deepEqual(await actionsOn(sql, id), ['document.created', 'document.metadata_changed']);
});

test('the fields of new metadata are validated first', async (t) => {
  const api = await createApi(t.context.vault);
  const { id } = await storeDocument(t, api);
  const refused: object[] = [
    {},
    { keywordDeterministic: [] },
    { encryptedMetadata: '' },
    { encryptedMetadata: 'QR==' },
    { encryptedMetadata: Buffer.alloc(65_537).toString('base64') },
    { ...fresh, keywordDeterministic: ['abc'] },
    { ...fresh, keywordDeterministic: null },
    { ...fresh, keywordDeterministic: Array.from({ length: 201 }, () => keyword('a')) },
    { ...fresh, storagePath: 'x' },
  ];
  for (const json of refused) {
    const path = `/v1/documents/${id}/metadata`;
    const { status, body } = await api.send('PUT', path, { json, headers: { 'If-Match': '*' } });
    t.is(status, 400, JSON.stringify(json).slice(0, 80));
    t.is(body.code, 'validation_failed');
  }
  t.is((await replaceAny(api, randomUUID())).status, 404);
});
