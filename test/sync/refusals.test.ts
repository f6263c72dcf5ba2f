import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { createApi } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import {
  change,
  codeOf,
  createDevice,
  createObject,
  deviceOf,
  type SyncDevice,
} from '../support/sync/devices.ts';
import { nested } from './merge/json-values.ts';

interface Scene {
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly device: SyncDevice;
  readonly id: string;
}

const test = anyTest as TestFn<Scene>;

test.before(async (t) => {
  const vault = await startVault({ SYNC_SCHEMA_VERSIONS: '1-9' });
  const device = await createDevice(vault);
  t.context = { vault, sql: createSql(vault), device, id: await createObject(device, { a: 1 }) };
});
test.after.always((t) => t.context.vault.stop());

/** Returns all that is stored of a user's objects in the tenant of the scene. */
async function snapshot({ sql, device }: Scene) {
  const { userId } = device.api.caller;
  return sql(
    `with owner as (select $1::uuid as user_id, 'default' as tenant_id)
    select
      (select json_agg(o order by object_id) from sync_objects o natural join owner) as objects,
      (select count(*) from sync_history natural join owner) as history,
      (select last_change from sync_counters natural join owner) as counter,
      (select count(*) from sync_requests natural join owner) as requests,
      (select count(*) from audit_entries natural join owner) as entries`,
    [userId],
  );
}

const manyFields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 0]));

/** [title, data or delta as JSON text, the response] */
const refusedData: [string, string, string][] = [
  ['an array', '[]', '400 validation_failed'],
  ['a text', '"a"', '400 validation_failed'],
  ['null', 'null', '400 validation_failed'],
  ['__proto__', '{"__proto__":{"a":1}}', '400 invalid_json'],
  ['a nested __proto__', '{"a":[{"__proto__":1}]}', '400 invalid_json'],
  ['2^53', '{"a":9007199254740992}', '400 number_out_of_range'],
  [
    '2^53 + 1, which JSON.parse rounds',
    '{"a":[{"b":9007199254740993}]}',
    '400 number_out_of_range',
  ],
  ['-2^53', '{"a":-9007199254740992}', '400 number_out_of_range'],
  ['1e21', '{"a":1e21}', '400 number_out_of_range'],
  ['1e400', '{"a":1e400}', '400 number_out_of_range'],
  ['-1e400', '{"a":[-1e400]}', '400 number_out_of_range'],
  ['a number', '1', '400 validation_failed'],
  ['33 levels', JSON.stringify(nested(33)), '400 data_too_deep'],
  ['10 001 fields', JSON.stringify(manyFields(10_001)), '400 too_many_fields'],
  ['over 512 KiB', JSON.stringify({ a: 'x'.repeat(2 ** 19) }), '400 data_too_large'],
  ['33 levels of arrays', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`, '400 data_too_deep'],
  ['thousands of levels', `${'{"a":'.repeat(9_999)}1${'}'.repeat(9_999)}`, '400 invalid_json'],
  ['a lone surrogate', String.raw`{"a":"\ud800"}`, '400 invalid_json'],
  ['a key with a lone surrogate', String.raw`{"\udc00":1}`, '400 invalid_json'],
  ['a repeated key', '{"a":1,"b":{},"a":1}', '400 invalid_json'],
  [
    'a nested repeated key, once escaped',
    String.raw`{"a":[{"b":{"c":1,"\u0063":2}}]}`,
    '400 invalid_json',
  ],
  ['NUL', String.raw`{"a":"\u0000"}`, '400 invalid_json'],
];

const bytesOf = (text: string) => new TextEncoder().encode(text);

for (const [what, text, expected] of refusedData) {
  test.serial(`data and a delta with ${what} are refused`, async (t) => {
    const { device, id } = t.context;
    const before = await snapshot(t.context);
    const headers = {
      'x-device-id': device.deviceId,
      'x-schema-version': '1',
      'x-sync-request-id': randomUUID(),
      'content-type': 'application/json',
    };
    const create = `{"objectId":"${randomUUID()}","data":${text}}`;
    const write = `{"objectId":"${id}","version":2,"baseVersion":1,"delta":${text}}`;
    for (const [path, body] of [
      ['/v1/sync/create', create],
      ['/v1/sync', write],
    ] as const) {
      const answer = await device.api.send('POST', path, { bytes: bytesOf(body), headers });
      t.is(codeOf(answer), expected, path);
    }
    t.deepEqual(await snapshot(t.context), before);
  });
}

test.serial('a body with a repeated name is refused with that reason', async (t) => {
  const { device } = t.context;
  const headers = {
    'x-device-id': device.deviceId,
    'x-schema-version': '1',
    'content-type': 'application/json',
  };
  const bytes = bytesOf('{"objectId":"","objectId":""}');
  const { body } = await device.api.send('POST', '/v1/sync', { bytes, headers });
  t.regex(JSON.stringify(body['details']), /two members of the same name/);
});

test.serial(
  '32 levels and 10 000 fields are accepted, and merging cannot exceed them',
  async (t) => {
    const { device } = t.context;
    await createObject(device, nested(32));
    const id = await createObject(device, manyFields(10_000));
    const before = await snapshot(t.context);
    t.is(codeOf(await device.write(change(id, 1, { other: 1 }))), '400 too_many_fields');
    const half = 'x'.repeat(2 ** 18);
    t.deepEqual(await snapshot(t.context), before);
    const large = await createObject(device, { a: half });
    t.is(codeOf(await device.write(change(large, 1, { b: half }))), '400 data_too_large');
    t.is((await device.write(change(large, 1, { a: null, b: half }))).status, 200);
  },
);

test.serial('an invalid write is refused with the invalid field', async (t) => {
  const { device, id } = t.context;
  const before = await snapshot(t.context);
  const good = change(id, 1, { a: 2 });
  const ahead = (ms: number) => new Date(Date.now() + ms).toISOString();
  const refused: [string, object][] = [
    ['objectId', { ...good, objectId: 'x' }],
    ['version', { ...good, version: 3 }],
    ['version', { ...good, version: 1.5 }],
    ['version', { ...good, version: 2 ** 31, baseVersion: 2 ** 31 - 1 }],
    ['baseVersion', { ...good, baseVersion: -1, version: 0 }],
    ['baseVersion', { objectId: id, version: 2, delta: {} }],
    ['delta', { objectId: id, version: 2, baseVersion: 1 }],
    ['delta', { ...good, deleted: true }],
    ['deleted', { objectId: id, version: 2, baseVersion: 1, deleted: false }],
    ['changedAt', { ...good, changedAt: 'yesterday' }],
    ['changedAt', { ...good, changedAt: '1969-12-31T23:59:59.000Z' }],
    ['changedAt', { ...good, changedAt: ahead(6 * 60_000) }],
    ['other', { ...good, other: 1 }],
  ];
  for (const [path, body] of refused) {
    const answer = await device.write(body);
    t.is(codeOf(answer), '400 validation_failed', JSON.stringify(body));
    const details = answer.body['details'] as { path: string }[];
    t.true(
      details.some((detail) => detail.path === path),
      JSON.stringify([path, details]),
    );
  }
  t.is(
    codeOf(await device.create({ objectId: randomUUID(), data: {}, objectType: '*' })),
    '400 validation_failed',
  );
  t.is(codeOf(await device.write(change(randomUUID(), 1, {}))), '404 not_found');
  t.is(codeOf(await device.create({ objectId: id, data: {} })), '409 object_exists');
  t.deepEqual(await snapshot(t.context), before);
  t.is((await device.write({ ...good, changedAt: ahead(4 * 60_000) })).status, 200);
});

test.serial(
  'a missing or unsupported schema version is refused before the body is read',
  async (t) => {
    const { device, id } = t.context;
    const before = await snapshot(t.context);
    for (const version of ['0', '10', '', 'x', '1.0', '-1', '1, 2', '99999999999999999999']) {
      for (const answer of [
        await device.write({}, { 'x-schema-version': version }),
        await device.create({}, { 'x-schema-version': version }),
      ]) {
        t.is(codeOf(answer), '400 schema_version_unsupported', version);
        t.is(answer.headers.get('x-schema-version-supported'), '1-9');
      }
    }
    const headers = { 'x-device-id': device.deviceId };
    const none = await device.api.send('POST', '/v1/sync', { json: change(id, 1, {}), headers });
    t.is(codeOf(none), '400 schema_version_unsupported');
    t.deepEqual(await snapshot(t.context), before);
    const newest = await device.create(
      { objectId: randomUUID(), data: {} },
      { 'x-schema-version': '9' },
    );
    t.is(newest.status, 201);
    t.is(newest.headers.get('x-schema-version-supported'), '1-9');
  },
);

test.serial('every route needs the device of the login session', async (t) => {
  const { vault, sql, device, id } = t.context;
  const { caller } = device.api;
  const ask = (who: SyncDevice, headers: Record<string, string>) =>
    Promise.all([
      ...['', `/${id}`, `/${id}/history`, `/${id}/export`].map((path) =>
        who.api.send('GET', `/v1/sync${path}`, { headers }),
      ),
      ...[
        ['', change(id, 1, {})] as const,
        ['/create', { objectId: randomUUID(), data: {} }] as const,
      ].map(([path, json]) =>
        who.api.send('POST', `/v1/sync${path}`, {
          json,
          headers: { 'x-schema-version': '1', ...headers },
        }),
      ),
    ]);
  const before = await snapshot(t.context);
  const other = await createDevice(vault, { userId: caller.userId });
  const unbound = deviceOf(
    await createApi(vault, { userId: caller.userId, scopes: caller.scopes }),
    '',
  );
  const revoked = await createDevice(vault, { userId: caller.userId });
  await sql('update devices set revoked_at = now() where device_id = $1', [revoked.deviceId]);
  const cases: [SyncDevice, Record<string, string>, string][] = [
    [device, {}, '401 device_required'],
    [device, { 'x-device-id': 'x' }, '400 validation_failed'],
    [device, { 'x-device-id': randomUUID() }, '403 device_unknown'],
    [device, { 'x-device-id': other.deviceId }, '403 device_unknown'],
    [unbound, { 'x-device-id': device.deviceId }, '403 device_unknown'],
    [revoked, { 'x-device-id': revoked.deviceId }, '403 device_blacklisted'],
  ];
  for (const [who, headers, expected] of cases) {
    const answers = await ask(who, headers);
    t.deepEqual(new Set(answers.map(codeOf)), new Set([expected]));
  }
  t.deepEqual(await snapshot(t.context), before);
});

test.serial('a request without a device is refused before its body is validated', async (t) => {
  const { api } = t.context.device;
  for (const path of ['/v1/sync', '/v1/sync/create']) {
    t.is(codeOf(await api.send('POST', path, { json: { objectId: 7 } })), '401 device_required');
  }
  t.is(codeOf(await api.send('GET', '/v1/sync?limit=0')), '401 device_required');
});

test.serial('reading needs sync:read and writing sync:write', async (t) => {
  const { vault, device, id } = t.context;
  const apiOf = (scopes: string[]) => createApi(vault, { ...device.api.caller, scopes });
  const reader = deviceOf(await apiOf(['sync:read', 'uploads:write']), device.deviceId);
  const writer = deviceOf(await apiOf(['sync:write', 'uploads:write']), device.deviceId);
  t.is((await reader.get(`/v1/sync/${id}`)).status, 200);
  t.is(codeOf(await reader.write(change(id, 1, {}))), '403 access_denied');
  t.is((await writer.get(`/v1/sync/${id}`)).status, 403);
  t.is((await writer.create({ objectId: randomUUID(), data: {} })).status, 201);
});

test.serial('objects are invisible to others, who may use the same ids', async (t) => {
  const { vault, device, id } = t.context;
  const before = await snapshot(t.context);
  const { userId } = device.api.caller;
  const stranger = await createDevice(vault);
  const namesake = await createDevice(vault, { userId, tenantId: 'other' });
  for (const who of [stranger, namesake]) {
    for (const path of [`/${id}`, `/${id}/history`, `/${id}/export`]) {
      t.is(codeOf(await who.get(`/v1/sync${path}`)), '404 not_found');
    }
    t.is(codeOf(await who.write(change(id, 1, { a: 3 }))), '404 not_found');
    t.is(
      codeOf(await who.write({ objectId: id, version: 2, baseVersion: 1, deleted: true })),
      '404 not_found',
    );
    t.deepEqual((await who.get('/v1/sync?includeDeleted=true&since=0')).body, {
      objects: [],
      total: 0,
      nextCursor: '0',
    });
  }
  t.is((await stranger.create({ objectId: id, data: { mine: 1 } })).status, 201);
  t.deepEqual(await snapshot(t.context), before);

  // The user's objects, requests and changes in another tenant are separate.
  const headers = { 'x-sync-request-id': randomUUID() };
  const mine = { objectId: id, data: { mine: 2 } };
  t.is((await namesake.create(mine, headers)).status, 201);
  t.is((await namesake.write(change(id, 1, { mine: 3 }))).status, 200);
  t.is(codeOf(await device.create(mine, headers)), '409 object_exists');
  const { body } = await namesake.get('/v1/sync');
  t.like(body, { total: 1, nextCursor: '2' });
  t.deepEqual(await snapshot(t.context), before);
});
