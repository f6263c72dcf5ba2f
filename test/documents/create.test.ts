import { randomUUID } from 'node:crypto';
import { rm, truncate } from 'node:fs/promises';
import anyTest, { type TestFn } from 'ava';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { createApi } from '../support/documents/uploads.ts';
import {
  bytesOf,
  complete,
  countStatuses,
  openSession,
  putPart,
  sha3,
  upload,
  type Uploaded,
} from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { objectDirectory, partFile } from '../support/documents/stored-files.ts';
import {
  createDocument,
  documentAt,
  metadata,
  storeDocument,
} from '../support/documents/documents.ts';
import { untilHashed } from '../support/documents/rows.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

test('a document has the hash that the server itself computed over the stored file', async (t) => {
  const api = await createApi(t.context.vault);
  const bytes = bytesOf(100_000);
  const { fileKey } = await upload(t, api, bytes);
  const { status, body } = await createDocument(api, fileKey);
  t.is(status, 201);
  t.deepEqual(Object.keys(body).sort(), [
    'createdAt',
    'encryptedMetadata',
    'fileHash',
    'fixityVerifiedAt',
    'id',
    'status',
    'userId',
  ]);
  t.like(body, {
    userId: api.caller.userId,
    encryptedMetadata: metadata,
    fileHash: sha3(bytes),
    status: 'PENDING',
  });
  const id = String(body.id);
  t.deepEqual((await api.send('GET', `/v1/documents/${id}`)).body, body);
  t.deepEqual((await api.send('GET', `/api/v1/documents/${id}/hash`)).body, {
    hash: sha3(bytes),
    algorithm: 'SHA3-256',
  });
});

test('only a completed upload of the caller can become a document', async (t) => {
  const { sql, vault } = t.context;
  const [api, other] = [await createApi(vault), await createApi(vault)];
  const elsewhere = await createApi(vault, { userId: api.caller.userId, tenantId: 'other' });
  const open = await openSession(t, api, 10);
  await putPart(api, open, 1, bytesOf(10));
  const [session] = await sql('select storage_key from upload_sessions where id = $1', [open]);
  const paths = [
    (await upload(t, other, bytesOf(10))).fileKey,
    (await upload(t, elsewhere, bytesOf(10))).fileKey,
    String(session?.storage_key),
    `${randomUUID()}/evidence.bin`,
    '../../etc/passwd',
    (await storeDocument(t, api)).fileKey,
  ];
  for (const path of paths) {
    const { status, body } = await createDocument(api, path);
    t.is(status, 400, path);
    t.is(body.code, 'stored_file_not_found', path);
  }
  t.is((await complete(api, open)).status, 200);
  t.is((await createDocument(api, String(session?.storage_key))).status, 201);
});

test('a completed upload can become a document for 24 hours', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { fileKey, sessionId } = await upload(t, api, bytesOf(10));
  const age = (interval: string) =>
    sql(`update upload_sessions set completed_at = now() - $2::interval where id = $1`, [
      sessionId,
      interval,
    ]);
  await age('24 hours 1 second');
  t.is((await createDocument(api, fileKey)).body.code, 'stored_file_not_found');
  await age('23 hours 59 minutes');
  t.is((await createDocument(api, fileKey)).status, 201);
});

test('an upload whose stored bytes have changed cannot become a document', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const changes = [
    async (key: string) => truncate(await partFile(vault, key), 10),
    (key: string) => rm(objectDirectory(vault, key), { recursive: true }),
  ];
  for (const change of changes) {
    const { fileKey, sessionId } = await upload(t, api, bytesOf(100));
    await untilHashed(sql, sessionId);
    await change(fileKey);
    // Simulates a process that died before it had hashed the file.
    await sql('update upload_sessions set file_hash = null where id = $1', [sessionId]);
    const { status, body } = await createDocument(api, fileKey);
    t.is(status, 400);
    t.is(body.code, 'stored_file_not_found');
  }
});

test('equal bytes make one document per user, and another user may store them too', async (t) => {
  const { vault } = t.context;
  const [api, other] = [await createApi(vault), await createApi(vault)];
  const bytes = bytesOf(100);
  await storeDocument(t, api, bytes);
  await storeDocument(t, other, bytes);
  const { fileKey } = await upload(t, api, bytes);
  const { status, body } = await createDocument(api, fileKey);
  t.is(status, 409);
  t.is(body.code, 'duplicate_hash');
});

test('a user may store the same bytes once in each of their tenants', async (t) => {
  const one = await createApi(t.context.vault);
  const { userId } = one.caller;
  const other = await createApi(t.context.vault, { userId, tenantId: 'elsewhere' });
  const bytes = bytesOf(100);
  for (const api of [one, other]) await storeDocument(t, api, bytes);
});

test('fifty concurrent creations from one upload make one document', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { fileKey } = await upload(t, api, bytesOf(100));
  const answers = await Promise.all(Array.from({ length: 50 }, () => createDocument(api, fileKey)));
  t.deepEqual(countStatuses(answers), { 201: 1, 400: 49 });
  for (const { status, body } of answers) {
    if (status === 400) t.is(body.code, 'stored_file_not_found');
  }
  const made = answers.find(({ status }) => status === 201);
  const entries = await sql(
    `select resource_id from audit_entries where action = 'document.created' and user_id = $1`,
    [api.caller.userId],
  );
  t.deepEqual(entries, [{ resource_id: made?.body.id }]);
});

test('fifty concurrent creations from equal uploads make one document', async (t) => {
  const api = await createApi(t.context.vault);
  const bytes = bytesOf(100);
  const uploads: Uploaded[] = [];
  for (let i = 0; i < 50; i += 1) uploads.push(await upload(t, api, bytes));
  const answers = await Promise.all(uploads.map(({ fileKey }) => createDocument(api, fileKey)));
  t.deepEqual(countStatuses(answers), { 201: 1, 409: 49 });
  for (const { status, body } of answers) if (status === 409) t.is(body.code, 'duplicate_hash');
});

test('no document is created from an upload that is being deleted', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  for (let round = 0; round < 10; round += 1) {
    const { id, fileKey } = await storeDocument(t, api);
    const [removed, ...created] = await Promise.all([
      api.send('DELETE', `/v1/documents/${id}`),
      ...Array.from({ length: 5 }, () => createDocument(api, fileKey)),
    ]);
    t.is(removed?.status, 204);
    t.deepEqual(countStatuses(created), { 400: 5 });
  }
  t.deepEqual(await sql('select id from documents where user_id = $1', [api.caller.userId]), []);
});

test('a document’s fields are validated before its file', async (t) => {
  const api = await createApi(t.context.vault);
  const keyword = 'ab'.repeat(32);
  const { fileKey } = await upload(t, api, bytesOf(100));
  const refused: object[] = [
    { encryptedMetadata: '' },
    { encryptedMetadata: 'QQ' },
    { encryptedMetadata: 'QR==' },
    { encryptedMetadata: 'QQ==\n' },
    { encryptedMetadata: '-_-_' },
    { encryptedMetadata: Buffer.alloc(65_537).toString('base64') },
    { encryptedMetadata: 7 },
    { encryptedMetadata: undefined },
    { keywordDeterministic: undefined },
    { keywordDeterministic: 'abc' },
    { keywordDeterministic: ['abc'] },
    { keywordDeterministic: [keyword.toUpperCase()] },
    { keywordDeterministic: [`${keyword}00`] },
    { keywordDeterministic: Array.from({ length: 201 }, () => keyword) },
    { storagePath: '' },
    { storagePath: 'x'.repeat(1025) },
    { storagePath: undefined },
    { fileHash: '00'.repeat(32) },
  ];
  for (const change of refused) {
    const { status, body } = await api.send('POST', '/v1/documents', {
      json: { ...documentAt(fileKey), ...change },
    });
    t.is(status, 400, JSON.stringify(change).slice(0, 80));
    t.is(body.code, 'validation_failed');
  }
  const { status } = await api.send('POST', '/v1/documents', {
    json: {
      encryptedMetadata: Buffer.alloc(65_536).toString('base64'),
      keywordDeterministic: Array.from({ length: 200 }, (_, i) =>
        (i % 150).toString(16).padStart(64, '0'),
      ),
      storagePath: fileKey,
    },
  });
  t.is(status, 201);
});

test('duplicate keywords are stored once, for their owner only', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { fileKey } = await upload(t, api, bytesOf(100));
  const keywords = ['aa'.repeat(32), 'bb'.repeat(32), 'aa'.repeat(32)];
  const { body } = await api.send('POST', '/v1/documents', {
    json: { ...documentAt(fileKey), keywordDeterministic: keywords },
  });
  const rows = await sql(
    'select keyword_hash, user_id from document_keywords where document_id = $1 order by 1',
    [body.id],
  );
  t.deepEqual(
    rows,
    ['aa', 'bb'].map((pair) => ({ keyword_hash: pair.repeat(32), user_id: api.caller.userId })),
  );
});
