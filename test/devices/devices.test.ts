import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { nextCursor } from '../../client/http/pages.ts';
import { assertError } from '../support/http/error-body.ts';
import { manyAtOnce } from '../support/http/many-at-once.ts';
import { proofHeader } from '../support/accounts/reauth-account.ts';
import { createApi } from '../support/documents/uploads.ts';
import { countStatuses } from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { entriesOf } from './entries.ts';
import {
  anyEnvelope,
  ask,
  createDevice,
  createOwner,
  guardCode,
} from '../support/accounts/owner.ts';

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

const notFound = { status: 404, code: 'not_found' };
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const anyInfo = () => randomBytes(40).toString('base64');

// Tests that use every connection to Postgres are serial and run before all others.

test('the envelope of a device is returned as it was stored', async (t) => {
  const { token } = await createOwner(vault);
  const deviceId = randomUUID();
  const path = `/device-envelope/${deviceId}`;
  assertError(t, await ask(vault, token, 'GET', path), notFound);
  const encryptedEnvelope = anyEnvelope();
  const json = { deviceId: deviceId.toUpperCase(), encryptedEnvelope };
  const created = await ask(vault, token, 'POST', '/device-envelope', { json });
  t.is(created.status, 201, created.text);
  t.is(created.headers.get('cache-control'), 'no-store');
  const { id } = created.body as { id: string };
  const envelope = { id, deviceId, encryptedEnvelope, algorithm: 'AES-256-KW', version: 1 };
  t.deepEqual(created.body, envelope);
  const found = await ask(vault, token, 'GET', path);
  const { lastUsedAt, createdAt, ...rest } = found.body as Record<string, unknown>;
  t.deepEqual(rest, envelope);
  t.regex(String(lastUsedAt), time);
  t.regex(String(createdAt), time);
});

test.serial('a device is registered once, however many requests are concurrent', async (t) => {
  const { token, userId } = await createOwner(vault);
  const deviceId = randomUUID();
  const answers = await manyAtOnce(50, () =>
    ask(vault, token, 'POST', '/device-envelope', {
      json: { deviceId, encryptedEnvelope: anyEnvelope() },
    }),
  );
  t.deepEqual(countStatuses(answers), { 201: 1, 409: 49 });
  const conflict = { status: 409, code: 'envelope_exists' };
  for (const answer of answers) if (answer.status === 409) assertError(t, answer, conflict);
  const [rows] = await sql('select count(*)::int as count from key_envelopes where user_id = $1', [
    userId,
  ]);
  t.deepEqual(rows, { count: 1 });
  t.deepEqual(
    (await entriesOf(vault, deviceId)).map(({ seq, action }) => ({ seq, action })),
    [{ seq: 1, action: 'device.registered' }],
  );
});

test('device ids are unique for a user: another user may have the same', async (t) => {
  const [one, other] = [await createOwner(vault), await createOwner(vault)];
  const deviceId = await createDevice(vault, one.token);
  const path = `/device-envelope/${deviceId}`;
  assertError(t, await ask(vault, other.token, 'GET', path), notFound);
  assertError(t, await ask(vault, other.token, 'DELETE', `/devices/${deviceId}`), notFound);
  const change = { json: { encryptedInfo: anyInfo() } };
  assertError(t, await ask(vault, other.token, 'PUT', `/devices/${deviceId}`, change), notFound);
  await createDevice(vault, other.token, deviceId);
  t.is((await ask(vault, other.token, 'DELETE', `/devices/${deviceId}`)).status, 204);
  t.is((await ask(vault, one.token, 'GET', path)).status, 200);
});

test('devices are listed page by page, with the data that their client stored', async (t) => {
  const { token } = await createOwner(vault);
  t.deepEqual((await ask(vault, token, 'GET', '/devices')).body, []);
  const encryptedInfo = anyInfo();
  const named = randomUUID();
  const json = { deviceId: named, encryptedEnvelope: anyEnvelope(), encryptedInfo };
  t.is((await ask(vault, token, 'POST', '/device-envelope', { json })).status, 201);
  const ids = [named, ...(await Promise.all([1, 2, 3, 4].map(() => createDevice(vault, token))))];
  const read: Record<string, unknown>[] = [];
  let query: string | undefined = '?limit=2';
  while (query !== undefined) {
    const page = await ask(vault, token, 'GET', `/devices${query}`);
    t.is(page.headers.get('cache-control'), 'no-store');
    read.push(...(page.body as Record<string, unknown>[]));
    const cursor = nextCursor(page.headers.get('link'));
    query = cursor === undefined ? undefined : `?limit=2&cursor=${cursor}`;
  }
  t.deepEqual(
    read.map(({ deviceId }) => deviceId),
    ids.sort(),
  );
  const first = read.find(({ deviceId }) => deviceId === named);
  t.like(first, { encryptedInfo, lastUsedAt: null });
  t.regex(String(first?.['createdAt']), time);
  for (const bad of ['?limit=0', '?limit=1001', '?cursor=jam', '?all=true']) {
    const answer = await ask(vault, token, 'GET', `/devices${bad}`);
    assertError(t, answer, { status: 400, code: 'validation_failed' }, bad);
  }
});

test('the data that a client stores with a device can be changed, up to 1 KiB', async (t) => {
  const { token } = await createOwner(vault);
  const deviceId = await createDevice(vault, token);
  const headers = { 'If-Match': '"1"' };
  const change = (json: unknown, id = deviceId) =>
    ask(vault, token, 'PUT', `/devices/${id}`, { json, headers });
  const encryptedInfo = randomBytes(1024).toString('base64');
  const changed = await change({ encryptedInfo });
  t.is(changed.status, 200);
  t.like(changed.body, { deviceId, encryptedInfo, version: 2 });
  t.is(changed.headers.get('etag'), '"2"');
  const refused = { status: 400, code: 'validation_failed' };
  for (const bad of ['', 'jam', 'AB==', randomBytes(1025).toString('base64'), 7, null]) {
    assertError(t, await change({ encryptedInfo: bad }), refused, String(bad));
    const json = { deviceId: randomUUID(), encryptedEnvelope: anyEnvelope(), encryptedInfo: bad };
    assertError(t, await ask(vault, token, 'POST', '/device-envelope', { json }), refused);
  }
  assertError(t, await change({}), refused);
  assertError(t, await change({ encryptedInfo }, 'jam'), refused);
  assertError(t, await change({ encryptedInfo }, randomUUID()), notFound);
  t.deepEqual(
    (await entriesOf(vault, deviceId)).map(({ action }) => action),
    ['device.registered', 'device.changed'],
  );
  t.false(vault.logLines.join('').includes(encryptedInfo));
});

test.serial(
  'a change of a device names its version, and one of fifty concurrent ones succeeds',
  async (t) => {
    const { token } = await createOwner(vault);
    const deviceId = await createDevice(vault, token);
    const change = (headers = {}) => {
      const json = { encryptedInfo: anyInfo() };
      return ask(vault, token, 'PUT', `/devices/${deviceId}`, { json, headers });
    };
    assertError(t, await change(), { status: 428, code: 'precondition_required' });
    const many = await manyAtOnce(50, () => change({ 'If-Match': '"1"' }));
    t.deepEqual(countStatuses(many), { 200: 1, 412: 49 });
    const stale = { status: 412, code: 'precondition_failed' };
    assertError(t, await change({ 'If-Match': '"1"' }), stale);
    assertError(t, await change({ 'If-Match': 'W/"2"' }), stale);
    assertError(t, await change({ 'If-Match': '2' }), { status: 400, code: 'invalid_request' });
    const { body } = await ask(vault, token, 'GET', '/devices');
    t.like((body as unknown[])[0], { deviceId, version: 2 });
    t.is((await change({ 'If-Match': '*' })).status, 200);
    t.is((await entriesOf(vault, deviceId)).length, 3);
  },
);

test('the use of a device is recorded once a minute', async (t) => {
  const { token } = await createOwner(vault);
  const deviceId = await createDevice(vault, token);
  const lastUsedAt = async () => {
    const { body } = await ask(vault, token, 'GET', `/device-envelope/${deviceId}`);
    return (body as { lastUsedAt: string }).lastUsedAt;
  };
  const first = await lastUsedAt();
  t.is(await lastUsedAt(), first);
  await sql(
    `update devices set last_used_at = last_used_at - interval '30 seconds' where device_id = $1`,
    [deviceId],
  );
  t.true((await lastUsedAt()) < first);
  await sql(
    `update devices set last_used_at = last_used_at - interval '1 minute' where device_id = $1`,
    [deviceId],
  );
  t.true((await lastUsedAt()) > first);
});

test('a user has at most 100 devices, not counting revoked ones', async (t) => {
  const { token, userId } = await createOwner(vault);
  const deviceId = await createDevice(vault, token);
  await createDevice(vault, token);
  await sql(
    `insert into devices (user_id, tenant_id, device_id)
     select $1, 'default', gen_random_uuid() from generate_series(1, 98)`,
    [userId],
  );
  const json = { deviceId: randomUUID(), encryptedEnvelope: anyEnvelope() };
  const refused = await ask(vault, token, 'POST', '/device-envelope', { json });
  assertError(t, refused, { status: 429, code: 'quota_exceeded' });
  const [other] = await sql(
    'select device_id as id from devices where user_id = $1 and device_id <> $2 limit 1',
    [userId, deviceId],
  );
  t.is((await ask(vault, token, 'DELETE', `/devices/${String(other?.['id'])}`)).status, 204);
  t.is((await ask(vault, token, 'POST', '/device-envelope', { json })).status, 201);
});

test.serial(
  'a user has at most 100 devices, however many are registered concurrently',
  async (t) => {
    const { token, userId } = await createOwner(vault);
    await sql(
      `insert into devices (user_id, tenant_id, device_id)
     select $1, 'default', gen_random_uuid() from generate_series(1, 98)`,
      [userId],
    );
    const register = () => {
      const json = { deviceId: randomUUID(), encryptedEnvelope: anyEnvelope() };
      return ask(vault, token, 'POST', '/device-envelope', { json });
    };
    const answers = await manyAtOnce(20, register);
    t.is(answers.filter(({ status }) => status === 201).length, 2);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      assertError(t, answer, { status: 429, code: 'quota_exceeded' });
    }
  },
);

test('a malformed device envelope is refused', async (t) => {
  const { token } = await createOwner(vault);
  const post = (json: unknown) => ask(vault, token, 'POST', '/device-envelope', { json });
  const encryptedEnvelope = anyEnvelope();
  const deviceId = randomUUID();
  const refused = { status: 400, code: 'validation_failed' };
  for (const bad of [
    {},
    [],
    { encryptedEnvelope },
    { deviceId },
    { deviceId: 'jam', encryptedEnvelope },
    { deviceId, encryptedEnvelope, name: 'jam' },
    { deviceId, encryptedEnvelope: encryptedEnvelope.replace(/.==$/, 'B==') },
  ]) {
    assertError(t, await post(bad), refused, JSON.stringify(bad));
  }
  const short = { deviceId, encryptedEnvelope: randomBytes(39).toString('base64') };
  assertError(t, await post(short), { status: 400, code: 'invalid_key_length' });
  t.deepEqual((await ask(vault, token, 'GET', '/devices')).body, []);
});

test('devices belong to a user in a tenant, and need the scope for keys', async (t) => {
  const api = await createApi(vault);
  const deviceId = await createDevice(vault, api.token);
  const elsewhere = await createApi(vault, {
    userId: api.caller.userId,
    tenantId: 'other',
    scopes: ['keys:manage', 'sync:read', 'uploads:write'],
  });
  const path = `/v1/crypto/keys/device-envelope/${deviceId}`;
  t.is((await elsewhere.send('GET', path)).status, 404);
  t.deepEqual((await elsewhere.send('GET', '/v1/crypto/keys/devices')).body as unknown, []);
  const remove = `/v1/crypto/keys/devices/${deviceId}`;
  t.is((await elsewhere.send('DELETE', remove)).status, 404);
  t.is(await guardCode(vault, elsewhere.token, deviceId), 'device_unknown');
  t.is(await createDevice(vault, elsewhere.token, deviceId), deviceId);
  const headers = await proofHeader(vault, elsewhere.caller);
  t.is((await elsewhere.send('DELETE', remove, { headers })).status, 204);
  t.is((await api.send('GET', path)).status, 200, 'another tenant has its own device of this id');
  const token = await vault.tokens.access({ ...api.caller, scopes: ['sync:read'] });
  const denied = { status: 403, code: 'access_denied' };
  for (const [method, where] of [
    ['GET', '/devices'],
    ['GET', `/device-envelope/${deviceId}`],
    ['POST', '/device-envelope'],
    ['PUT', `/devices/${deviceId}`],
    ['DELETE', `/devices/${deviceId}`],
  ] as const) {
    assertError(t, await ask(vault, token, method, where), denied, `${method} ${where}`);
  }
});
