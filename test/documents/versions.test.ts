import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { createApi } from '../support/documents/uploads.ts';
import { bytesOf, sha3, upload } from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import {
  addVersion,
  certify,
  createDocument,
  etagOf,
  getDocument,
  listVersions,
  metadata,
  metadataOf,
  storeDocument,
  storeVersion,
} from '../support/documents/documents.ts';
import { actionsOn, expireDocument, insertDocuments } from '../support/documents/rows.ts';
import { nextPage } from '../support/http/next-page.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

test('a new version becomes current at once, and the previous one stays unchanged', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id, fileHash } = await storeDocument(t, api);
  const [before] = await listVersions(api, id);
  const bytes = bytesOf(200);
  const { body } = await storeVersion(t, api, id, bytes);
  t.deepEqual(Object.keys(body).sort(), [
    'createdAt',
    'documentId',
    'encryptedMetadata',
    'fileHash',
    'status',
    'version',
  ]);
  t.like(body, { documentId: id, version: 2, fileHash: sha3(bytes), status: 'PENDING' });

  t.like((await getDocument(api, id)).body, { id, fileHash: sha3(bytes), status: 'PENDING' });
  t.is((await api.send('GET', `/v1/documents/${id}/hash`)).body.hash, sha3(bytes));
  t.deepEqual((await api.send('GET', `/api/v1/documents/${id}/versions`)).body as unknown, [
    body,
    before,
  ]);
  t.like(before, { version: 1, fileHash, status: 'PENDING' });
  t.deepEqual(await actionsOn(sql, id), ['document.created', 'document.version_added']);
  const [entry] = await sql(
    `select canonical::json -> 'data' as data from audit_entries
     where resource_id = $1 and action = 'document.version_added'`,
    [id],
  );
  t.deepEqual(entry?.data, { version: 2, fileHash: sha3(bytes), size: 200 });
});

test('a version inherits the metadata of the previous one unless it has its own', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  await storeVersion(t, api, id);
  t.is((await getDocument(api, id)).body.encryptedMetadata, metadata);
  const own = { encryptedMetadata: metadataOf('of the third') };
  const { fileKey } = await upload(t, api, bytesOf(10));
  const added = await api.send('POST', `/api/v1/documents/${id}/versions`, {
    json: { storagePath: fileKey, ...own },
  });
  t.is(added.status, 201);
  await storeVersion(t, api, id);
  t.is((await getDocument(api, id)).body.encryptedMetadata, own.encryptedMetadata);
});

test('a sealed version never changes, and a version after it is sealed separately', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const { id, fileHash } = await storeDocument(t, api);
  const first = await certify(api, id);
  t.is(first.status, 200);
  const { body } = await storeVersion(t, api, id);
  t.is((await getDocument(api, id)).body.status, 'PENDING');
  const second = await certify(api, id);
  t.is(second.status, 200, JSON.stringify(second.body));
  t.not(second.body.proofId, first.body.proofId);
  const again = await certify(api, id);
  t.is(again.status, 409);
  t.is(again.body.proofId, second.body.proofId);
  t.like(await listVersions(api, id), [
    { version: 2, fileHash: body.fileHash as string, status: 'SEALED' },
    { version: 1, fileHash, status: 'SEALED' },
  ]);
});

test('a version can follow a pending or an expired one', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  await storeVersion(t, api, id);
  await expireDocument(sql, id);
  await storeVersion(t, api, id);
  t.deepEqual(
    (await listVersions(api, id)).map(({ version, status }) => [version, status]),
    [
      [3, 'PENDING'],
      [2, 'EXPIRED'],
      [1, 'EXPIRED'],
    ],
  );
  t.is((await certify(api, id)).status, 200);
});

test('no content is stored twice by a user, in any document or version', async (t) => {
  const { vault } = t.context;
  const [api, other] = [await createApi(vault), await createApi(vault)];
  const [first, second, third] = [bytesOf(10), bytesOf(20), bytesOf(30)];
  const { id } = await storeDocument(t, api, first);
  await storeVersion(t, api, id, second);
  const another = await storeDocument(t, api, third);
  for (const bytes of [first, second, third]) {
    const { fileKey } = await upload(t, api, bytes);
    for (const answer of [
      await addVersion(api, id, fileKey),
      await addVersion(api, another.id, fileKey),
      await createDocument(api, fileKey),
    ]) {
      t.is(answer.status, 409);
      t.is(answer.body.code, 'duplicate_hash');
    }
  }
  const theirs = await storeDocument(t, other, first);
  await storeVersion(t, other, theirs.id, second);
});

test('only an unused, completed upload of the caller can become a version', async (t) => {
  const { vault } = t.context;
  const [api, other] = [await createApi(vault), await createApi(vault)];
  const { id, fileKey } = await storeDocument(t, api);
  const version = await storeVersion(t, api, id);
  const paths = [
    fileKey,
    version.fileKey,
    (await storeDocument(t, api)).fileKey,
    (await upload(t, other, bytesOf(10))).fileKey,
    `${randomUUID()}/evidence.bin`,
  ];
  for (const path of paths) {
    const { status, body } = await addVersion(api, id, path);
    t.is(status, 400, path);
    t.is(body.code, 'stored_file_not_found', path);
  }
  t.is((await createDocument(api, version.fileKey)).body.code, 'stored_file_not_found');
  t.is((await listVersions(api, id)).length, 2);
});

test('a version’s fields are validated before its file', async (t) => {
  const api = await createApi(t.context.vault);
  const { id } = await storeDocument(t, api);
  const { fileKey } = await upload(t, api, bytesOf(10));
  const refused: object[] = [
    {},
    { storagePath: '' },
    { storagePath: 7 },
    { storagePath: 'x'.repeat(1025) },
    { storagePath: fileKey, encryptedMetadata: '' },
    { storagePath: fileKey, encryptedMetadata: null },
    { storagePath: fileKey, encryptedMetadata: 'QR==' },
    { storagePath: fileKey, encryptedMetadata: Buffer.alloc(65_537).toString('base64') },
    { storagePath: fileKey, keywordDeterministic: [] },
    { storagePath: fileKey, version: 7 },
  ];
  for (const json of refused) {
    const { status, body } = await api.send('POST', `/v1/documents/${id}/versions`, { json });
    t.is(status, 400, JSON.stringify(json).slice(0, 80));
    t.is(body.code, 'validation_failed');
  }
  t.is((await addVersion(api, id, fileKey)).status, 201);
});

test('concurrently added versions get distinct consecutive numbers', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  const uploads = await Promise.all(Array.from({ length: 12 }, () => upload(t, api, bytesOf(100))));
  const answers = await Promise.all(uploads.map(({ fileKey }) => addVersion(api, id, fileKey)));
  const numbers = answers.map(({ body }) => Number(body.version)).sort((a, b) => a - b);
  t.deepEqual(
    numbers,
    Array.from({ length: 12 }, (_, i) => i + 2),
  );
  const versions = await listVersions(api, id);
  t.deepEqual(
    versions.map(({ version }) => version),
    Array.from({ length: 13 }, (_, i) => 13 - i),
  );
  t.is((await getDocument(api, id)).body.fileHash, versions[0]?.fileHash);
  t.is(await etagOf(api, id), '"13"');
  t.is((await actionsOn(sql, id)).length, 13);
});

test('an upload becomes one version even if several documents request it at once', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const documents = await Promise.all(Array.from({ length: 5 }, () => storeDocument(t, api)));
  const { fileKey } = await upload(t, api, bytesOf(100));
  const answers = await Promise.all([
    ...documents.map(({ id }) => addVersion(api, id, fileKey)),
    createDocument(api, fileKey),
  ]);
  t.is(answers.filter(({ status }) => status === 201).length, 1);
  for (const { status, body } of answers) {
    if (status !== 201) t.is(body.code, 'stored_file_not_found');
  }
});

test('a document has at most 1000 versions, which are listed page by page', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { userId, tenantId } = api.caller;
  const [id = ''] = await insertDocuments(sql, api.caller, 1);
  await sql(
    `insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
       object_version, file_size, file_hash, encrypted_metadata)
     select $1::uuid, n, $2, $3, $1::uuid || '/' || n, 'v', 1,
       encode(sha256(($1::uuid || '.' || n)::bytea), 'hex'), $4
     from generate_series(2, 999) n`,
    [id, userId, tenantId, metadata],
  );
  await sql('update documents set version = 999 where id = $1', [id]);
  await storeVersion(t, api, id);
  const { fileKey } = await upload(t, api, bytesOf(10));
  const { status, body } = await addVersion(api, id, fileKey);
  t.is(status, 409);
  t.is(body.code, 'too_many_versions');
  t.is((await createDocument(api, fileKey)).status, 201, 'the file can still be used');

  const pages: number[][] = [];
  let path: string | undefined = `/v1/documents/${id}/versions?limit=400`;
  while (path !== undefined) {
    const answer = await api.send('GET', path);
    pages.push(
      (answer.body as unknown as { readonly version: number }[]).map(({ version }) => version),
    );
    path = nextPage(path, answer.headers);
    if (path !== undefined) t.true(path.startsWith(`/v1/documents/${id}/versions?limit=400&`));
  }
  t.deepEqual(
    pages.map((page) => page.length),
    [400, 400, 200],
  );
  t.deepEqual(
    pages.flat(),
    Array.from({ length: 1000 }, (_, i) => 1000 - i),
  );
  for (const query of ['limit=0', 'limit=1001', 'cursor=0', 'cursor=x', 'cursor=', 'page=2']) {
    const answer = await api.send('GET', `/v1/documents/${id}/versions?${query}`);
    t.is(answer.status, 400, query);
  }
});

test('a version requested twice with one Idempotency-Key is added once', async (t) => {
  const api = await createApi(t.context.vault);
  const { id } = await storeDocument(t, api);
  const { fileKey } = await upload(t, api, bytesOf(10));
  const ask = () =>
    api.send('POST', `/v1/documents/${id}/versions`, {
      json: { storagePath: fileKey },
      headers: { 'Idempotency-Key': 'the-same' },
    });
  const first = await ask();
  t.is(first.status, 201);
  const second = await ask();
  t.is(second.status, 201);
  t.deepEqual(second.body, first.body);
  t.is((await listVersions(api, id)).length, 2);
});
