import test from 'ava';
import {
  addVersion,
  etagOf,
  listVersions,
  metadata,
  storeDocument,
  type VersionItem,
} from '../support/documents/documents.ts';
import { bytesOf, upload } from '../support/documents/files.ts';
import { insertDocuments } from '../support/documents/rows.ts';
import { createApi, type Answer } from '../support/documents/uploads.ts';
import { nextPage } from '../support/http/next-page.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import { createSql } from '../support/vault/sql.ts';

test('each version keeps its metadata, also after later versions', async (t) => {
  const api = await createApi(sharedVault());
  const { id } = await storeDocument(t, api);
  const texts = [2, 3].map((n) => Buffer.from(`metadata of version ${n}`).toString('base64'));
  for (const encryptedMetadata of texts) {
    const { fileKey } = await upload(t, api, bytesOf(100));
    const { status, body } = await addVersion(api, id, fileKey, { encryptedMetadata });
    t.is(status, 201);
    t.is(body.encryptedMetadata, encryptedMetadata);
  }
  const listed = (await listVersions(api, id)).map((version) => version.encryptedMetadata);
  t.deepEqual(listed, [...texts.toReversed(), metadata]);
});

test('a page of versions ends before it grows too large', async (t) => {
  const vault = sharedVault();
  const sql = createSql(vault);
  const api = await createApi(vault);
  const [id = ''] = await insertDocuments(sql, api.caller, 1);
  await sql(
    `insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
       object_version, file_size, file_hash, encrypted_metadata)
     select $1, n, $2, 'default', gen_random_uuid() || '/f', 'v', 1,
       encode(sha256(gen_random_uuid()::text::bytea), 'hex'), $3
     from generate_series(2, 40) as n`,
    [id, api.caller.userId, Buffer.alloc(65_536).toString('base64')],
  );
  const versions: number[] = [];
  let pages = 0;
  let path: string | undefined = `/v1/documents/${id}/versions?limit=1000`;
  while (path !== undefined) {
    const { headers, body }: Answer = await api.send('GET', path);
    t.true(JSON.stringify(body).length < 1.5 * 2 ** 20);
    versions.push(...(body as unknown as VersionItem[]).map(({ version }) => version));
    path = nextPage(path, headers);
    pages += 1;
  }
  t.deepEqual(
    versions,
    Array.from({ length: 40 }, (_, index) => 40 - index),
  );
  t.true(pages > 3);
});

test('with If-Match a version is added only to the state that the client knows', async (t) => {
  const api = await createApi(sharedVault());
  const { id } = await storeDocument(t, api);
  const etag = await etagOf(api, id);
  const add = async (headers: Record<string, string>) => {
    const { fileKey: storagePath } = await upload(t, api, bytesOf(100));
    return api.send('POST', `/v1/documents/${id}/versions`, { json: { storagePath }, headers });
  };
  t.is((await add({ 'if-match': etag })).status, 201);
  const late = await add({ 'if-match': etag });
  t.is(late.status, 412);
  t.is(late.body.code, 'precondition_failed');
  t.is((await add({ 'if-match': 'nonsense' })).body.code, 'invalid_request');
  t.is((await listVersions(api, id)).length, 2);
  t.is((await add({ 'if-match': '*' })).status, 201);
  t.is((await add({})).status, 201);
});
