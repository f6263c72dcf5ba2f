import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { documentAt } from '../support/documents/documents.ts';
import { createApi, type Answer, type Api } from '../support/documents/uploads.ts';
import {
  bytesOf,
  complete,
  countStatuses,
  fileOf,
  openSession,
  putPart,
  upload,
} from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import { isReplay, keyedRequests, underKey } from './keyed.ts';

const test = anyTest as TestFn<{ vault: Vault; sql: Sql }>;

test.before(async (t) => {
  const vault = sharedVault();
  t.context = { vault, sql: createSql(vault) };
});

async function countOf(sql: Sql, table: 'upload_sessions' | 'documents', api: Api) {
  const rows = await sql(`select id from ${table} where user_id = $1`, [api.caller.userId]);
  return rows.length;
}

const codeOf = ({ status, body }: Answer) => `${status} ${String(body.code)}`;

test('a request repeated under its key is replayed and not executed again', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  for (const [path, json] of Object.entries(await keyedRequests(t, api))) {
    const table = path === '/v1/uploads' ? 'upload_sessions' : 'documents';
    const before = await countOf(sql, table, api);
    const send = underKey(api, path, json);
    const first = await send();
    t.is(first.status, 201, path);
    t.false(isReplay(first));
    for (let again = 0; again < 2; again += 1) {
      const answer = await send();
      t.is(answer.status, 201, path);
      t.true(isReplay(answer));
      t.deepEqual(answer.body, first.body);
      t.deepEqual(Object.keys(answer.body), Object.keys(first.body));
      t.is(answer.headers.get('content-length'), first.headers.get('content-length'));
    }
    t.is(await countOf(sql, table, api), before + 1, path);
  }
});

test('without a key, and under another one, a request is executed again', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  await underKey(api, '/v1/uploads', fileOf(10))();
  const other = await underKey(api, '/v1/uploads', fileOf(10))();
  t.is(other.status, 201);
  t.false(isReplay(other));
  await openSession(t, api, 10);
  t.is(await countOf(sql, 'upload_sessions', api), 3);
});

test('a key is bound to the path, whatever its prefix, and to the body', async (t) => {
  const api = await createApi(t.context.vault);
  const { fileKey } = await upload(t, api, bytesOf(5));
  const key = randomUUID();
  const json = documentAt(fileKey);
  t.is((await underKey(api, '/v1/documents', json, key)()).status, 201);
  t.true(isReplay(await underKey(api, '/api/v1/documents', json, key)()));
  const rearranged = Object.fromEntries(Object.entries(json).toReversed());
  t.true(isReplay(await underKey(api, '/v1/documents', rearranged, key)()));
  for (const [path, other] of [
    ['/v1/documents', documentAt(`${fileKey}x`)],
    ['/v1/documents', { ...json, keywordDeterministic: ['ab'.repeat(32)] }],
    ['/v1/uploads', fileOf(10)],
  ] as const) {
    t.is(codeOf(await underKey(api, path, other, key)()), '409 idempotency_key_reused', path);
  }
});

test('of parallel requests under one key exactly one is executed', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  for (const [path, json] of Object.entries(await keyedRequests(t, api))) {
    const table = path === '/v1/uploads' ? 'upload_sessions' : 'documents';
    const before = await countOf(sql, table, api);
    const answers = await Promise.all(Array.from({ length: 30 }, underKey(api, path, json)));
    const done = answers.filter(({ status }) => status === 201);
    t.is(done.filter((answer) => !isReplay(answer)).length, 1);
    t.is(new Set(done.map(({ body }) => JSON.stringify(body))).size, 1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      t.is(codeOf(answer), '409 idempotency_in_progress');
      t.truthy(answer.headers.get('retry-after'));
    }
    t.is(await countOf(sql, table, api), before + 1);
  }
});

test('a failed request releases its key', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const key = randomUUID();
  const { fileKey } = await upload(t, api, bytesOf(5));
  const refused = [
    ['/v1/uploads', { ...fileOf(10), fileName: '' }, '400 validation_failed'],
    ['/v1/uploads', { ...fileOf(10), mimeType: 'text/html' }, '400 mime_type_not_allowed'],
    ['/v1/documents', documentAt('nowhere'), '400 stored_file_not_found'],
  ] as const;
  for (const [path, json, code] of refused) {
    t.is(codeOf(await underKey(api, path, json, key)()), code);
    t.is(codeOf(await underKey(api, path, json, key)()), code, 'it is executed again');
  }
  const kept = await sql('select 1 from idempotency_keys where user_id = $1', [api.caller.userId]);
  t.deepEqual(kept, []);
  t.is((await underKey(api, '/v1/documents', documentAt(fileKey), key)()).status, 201);
});

test('a key is independent of other users’ and of the same user’s in another tenant', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const elsewhere = [
    await createApi(vault),
    await createApi(vault, { userId: api.caller.userId, tenantId: 'other' }),
  ];
  const key = randomUUID();
  const first = await underKey(api, '/v1/uploads', fileOf(10), key)();
  for (const [index, other] of elsewhere.entries()) {
    const answer = await underKey(other, '/v1/uploads', fileOf(11 + index), key)();
    t.is(answer.status, 201);
    t.not(answer.body.sessionId, first.body.sessionId);
  }
  t.true(isReplay(await underKey(api, '/v1/uploads', fileOf(10), key)()));
});

test('a stored response is replayed for 24 hours, and then the key is free', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const key = randomUUID();
  const send = underKey(api, '/v1/uploads', fileOf(10), key);
  const first = await send();
  const age = (interval: string) =>
    sql('update idempotency_keys set created_at = now() - $2::interval where user_id = $1', [
      api.caller.userId,
      interval,
    ]);
  await age('23 hours 59 minutes');
  t.true(isReplay(await send()));
  await age('24 hours');
  const other = await underKey(api, '/v1/uploads', fileOf(11), key)();
  t.is(other.status, 201);
  t.false(isReplay(other));
  t.not(other.body.sessionId, first.body.sessionId);
  t.is(codeOf(await send()), '409 idempotency_key_reused');
});

test('a kept response does not repeat what the request holds', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const { fileKey } = await upload(t, api, bytesOf(9));
  const json = { ...documentAt(fileKey), encryptedMetadata: 'A'.repeat(87_380) };
  const send = underKey(api, '/v1/documents', json);
  const first = await send();
  t.is(first.status, 201);
  const [kept] = await sql(
    'select octet_length(response) as bytes from idempotency_keys where user_id = $1',
    [api.caller.userId],
  );
  t.true(Number(kept?.['bytes']) < 500, `${String(kept?.['bytes'])} bytes are kept`);
  const again = await send();
  t.true(isReplay(again));
  t.deepEqual(again.body, first.body);
});

test('a key is 1 to 255 visible ASCII characters', async (t) => {
  const api = await createApi(t.context.vault);
  for (const key of ['', ' ', 'a b', 'a\tb', 'é', 'a'.repeat(256), 'a, b']) {
    const { status, body } = await underKey(api, '/v1/uploads', fileOf(10), key)();
    t.is(status, 400, key);
    t.is(body.code, 'validation_failed');
    t.deepEqual(body.details, [
      { path: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' },
    ]);
  }
  for (const key of ['a', '"quoted"', '~!', 'a'.repeat(255)]) {
    t.is((await underKey(api, '/v1/uploads', fileOf(10), key)()).status, 201, key);
  }
});

test('a request that accepts no keys ignores them', async (t) => {
  const api = await createApi(t.context.vault);
  const headers = { 'idempotency-key': 'a b' };
  const sessionId = await openSession(t, api, 10);
  t.is((await putPart(api, sessionId, 1, bytesOf(10), headers)).status, 200);
  const send = () => api.send('POST', `/v1/uploads/${sessionId}/complete`, { headers });
  t.deepEqual(countStatuses([await send(), await send(), await complete(api, sessionId)]), {
    200: 1,
    409: 2,
  });
});
