import { randomBytes } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { countStatuses } from '../support/documents/files.ts';
import { createApi, type Api } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;
const path = '/v1/crypto/keys/master-envelope';

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const create = (api: Api, encryptedEnvelope: unknown) =>
  api.send('POST', path, { json: { encryptedEnvelope } });

test('the wrapped master key is returned as it was stored', async (t) => {
  const api = await createApi(t.context.vault);
  t.is((await api.send('GET', path)).status, 404);
  const encryptedEnvelope = randomBytes(40).toString('base64');
  const created = await create(api, encryptedEnvelope);
  t.is(created.status, 201);
  t.is(created.headers.get('cache-control'), 'no-store');
  const { id } = created.body;
  const envelope = { id, encryptedEnvelope, algorithm: 'AES-256-KW', version: 1 };
  t.deepEqual(created.body as unknown, envelope);

  const found = await api.send('GET', path);
  t.is(found.status, 200);
  t.is(found.headers.get('cache-control'), 'no-store');
  const { createdAt, ...rest } = found.body;
  t.deepEqual(rest as unknown, { ...envelope, keyring: null });
  t.regex(String(createdAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('a user has one master envelope, however many are created concurrently', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => create(api, randomBytes(40).toString('base64'))),
  );
  t.deepEqual(countStatuses(answers), { 201: 1, 409: 19 });
  for (const { status, body } of answers) if (status === 409) t.is(body.code, 'envelope_exists');
  const made = answers.find(({ status }) => status === 201);
  t.is((await api.send('GET', path)).body.encryptedEnvelope, made?.body.encryptedEnvelope);
  const entries = await sql(`select resource_id from audit_entries where user_id = $1`, [
    api.caller.userId,
  ]);
  t.deepEqual(entries, [{ resource_id: made?.body.id }]);
});

test('an envelope that does not have the length of a wrapped key is refused', async (t) => {
  const api = await createApi(t.context.vault);
  for (const length of [0, 1, 32, 39, 41, 48, 1025, 11_000]) {
    const { status, body } = await create(api, randomBytes(length).toString('base64'));
    t.is(status, 400, String(length));
    t.is(body.code, 'invalid_key_length', String(length));
  }
  const text = randomBytes(40).toString('base64');
  for (const other of [
    text.replace('==', ''),
    `${text}\n`,
    text.replace(/.==$/, 'B=='),
    '-'.repeat(54) + '==',
    randomBytes(40).toString('hex').slice(0, 56).replace(/.$/, '!'),
    40,
    null,
    undefined,
  ]) {
    const { status, body } = await create(api, other);
    t.is(status, 400, String(other));
    t.is(body.code, 'validation_failed', String(other));
  }
  t.is((await api.send('GET', path)).status, 404);
});

test('an envelope belongs to a user in a tenant, and needs the scope for keys', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  await create(api, randomBytes(40).toString('base64'));
  for (const stranger of [
    await createApi(vault),
    await createApi(vault, { userId: api.caller.userId, tenantId: 'other' }),
    await createApi(vault, { roles: ['user', 'auditor', 'probatio_admin'] }),
  ]) {
    t.is((await stranger.send('GET', path)).status, 404);
  }
  const token = await vault.tokens.access({ ...api.caller, scopes: ['uploads:write'] });
  const headers = { authorization: `Bearer ${token}` };
  t.is((await api.send('GET', path, { headers })).status, 403);
  t.is((await api.send('POST', path, { headers, json: {} })).status, 403);
});

test('neither the log nor an audit entry shows an envelope', async (t) => {
  const { sql, vault } = t.context;
  const api = await createApi(vault);
  const envelope = randomBytes(40).toString('base64');
  await create(api, envelope);
  await create(api, envelope);
  const [entry] = await sql(`select canonical from audit_entries where user_id = $1`, [
    api.caller.userId,
  ]);
  t.deepEqual((JSON.parse(String(entry?.canonical)) as { data: object }).data, {
    kind: 'MASTER',
    version: 1,
  });
  t.false(vault.logLines.join('').includes(envelope));
});
