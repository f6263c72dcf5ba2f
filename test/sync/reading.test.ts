import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import canonicalize from 'canonicalize';
import * as fc from 'fast-check';
import { nextCursor } from '../../client/http/pages.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { createSql } from '../support/vault/sql.ts';
import {
  change,
  codeOf,
  createDevice,
  createObject,
  type SyncDevice,
} from '../support/sync/devices.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context = { vault: await startVault() };
});
test.after.always((t) => t.context.vault.stop());

interface Item {
  readonly objectId: string;
  readonly version: number;
  readonly deleted?: true;
}

async function list(device: SyncDevice, query = '') {
  const { status, body } = await device.get(`/v1/sync${query}`);
  return {
    status,
    items: (body['objects'] as Item[]).map(({ objectId, version, deleted }) =>
      [objectId, version, ...(deleted ? ['deleted'] : [])].join(' '),
    ),
    total: body['total'],
    cursor: String(body['nextCursor']),
  };
}

test('a list has all objects; with a cursor all later changes and tombstones', async (t) => {
  const device = await createDevice(t.context.vault);
  t.deepEqual(await list(device), { status: 200, items: [], total: 0, cursor: '0' });
  const [a, b, c] = [
    await createObject(device, {}),
    await createObject(device, {}),
    await createObject(device, {}),
  ];
  const before = await list(device);
  t.deepEqual(before.items, [`${a} 1`, `${b} 1`, `${c} 1`]);
  t.is(before.total, 3);
  await device.write(change(a, 1, { x: 1 }));
  await device.write({ objectId: b, version: 2, baseVersion: 1, deleted: true });
  t.deepEqual((await list(device)).items, [`${c} 1`, `${a} 2`]);
  t.deepEqual((await list(device, '?includeDeleted=false')).total, 2);
  t.deepEqual((await list(device, '?includeDeleted=true')).items, [
    `${c} 1`,
    `${a} 2`,
    `${b} 2 deleted`,
  ]);
  const since = await list(device, `?since=${before.cursor}`);
  t.deepEqual([since.items, since.total], [[`${a} 2`, `${b} 2 deleted`], 2]);
  t.deepEqual(await list(device, `?since=${since.cursor}`), {
    status: 200,
    items: [],
    total: 2,
    cursor: since.cursor,
  });
  const page = await list(device, '?limit=1');
  t.deepEqual([page.items, page.total], [[`${c} 1`], 2]);
  t.deepEqual((await list(device, `?limit=1&since=${page.cursor}`)).items, [`${a} 2`]);
});

test('a cursor beyond the newest change (unreported restore) starts anew', async (t) => {
  const device = await createDevice(t.context.vault);
  t.like(await list(device, '?since=9'), { items: [], cursor: '0' });
  const id = await createObject(device, {});
  t.like(await list(device, '?since=999999999999999'), { items: [`${id} 1`], cursor: '1' });
  t.like(await list(device, '?since=0'), { items: [`${id} 1`], cursor: '1' });
});

test('a malformed query is refused', async (t) => {
  const device = await createDevice(t.context.vault);
  const id = await createObject(device, {});
  const queries = [
    'since=-1',
    'since=x',
    'since=01',
    'since=1e3',
    'since=9999999999999999',
    'since=',
    'since=.1',
    'since=0123456789abcdef',
    'since=0123456789abcdef.',
    'since=0123456789abcdef.01',
    'since=0123456789abcdef.-1',
    'since=0123456789abcdef.1.1',
    'since=0123456789abcde.1',
    'since=0123456789ABCDEF.1',
    'since=0123456789abcdef.9999999999999999',
    'since=1&since=2',
    'limit=0',
    'limit=1001',
    'includeDeleted=1',
    'other=1',
  ];
  for (const query of queries) {
    t.is(codeOf(await device.get(`/v1/sync?${query}`)), '400 validation_failed', query);
  }
  for (const path of ['/x', '/x/history', '/x/export', `/${id}?a=1`, `/${id}/history?cursor=1`]) {
    t.is(codeOf(await device.get(`/v1/sync${path}`)), '400 validation_failed', path);
  }
  for (const path of ['', '/history', '/export']) {
    t.is(codeOf(await device.get(`/v1/sync/${randomUUID()}${path}`)), '404 not_found', path);
  }
});

test('a history is read page by page, also that of a deleted object', async (t) => {
  const device = await createDevice(t.context.vault);
  const id = await createObject(device, { a: 0 });
  for (const version of [1, 2, 3]) await device.write(change(id, version, { a: version }));
  await device.write({ objectId: id, version: 5, baseVersion: 4, deleted: true });
  const versions: number[] = [];
  let path: string | undefined = `/v1/sync/${id}/history?limit=2`;
  while (path !== undefined) {
    const { headers, body } = await device.get(path);
    t.is(body['objectId'], id);
    const history = body['history'] as { version: number; timestamp: string }[];
    versions.push(...history.map(({ version }) => version));
    const cursor = nextCursor(headers.get('link'));
    path = cursor === undefined ? undefined : `/v1/sync/${id}/history?limit=2&cursor=${cursor}`;
  }
  t.deepEqual(versions, [1, 2, 3, 4, 5]);
});

test('an export is canonical JSON (RFC 8785), byte for byte', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  const text = async (id: string) => {
    const response = await fetch(`${vault.baseUrl}/v1/sync/${id}/export`, {
      headers: { authorization: `Bearer ${device.api.token}`, 'x-device-id': device.deviceId },
    });
    t.is(response.headers.get('content-type'), 'application/json; charset=utf-8');
    return response.text();
  };
  // The names sort differently in JavaScript, and numbers and characters have many forms.
  const data = {
    10: 1,
    9: 2,
    '\u20ac': '\r\u2028"',
    '\ud83d\ude02': 1e-7 * 10,
    '\ufb33': 4.5e-7,
    a: -0,
  };
  const id = await createObject(device, data);
  await device.write(change(id, 1, { b: [1] }));
  const exported = await text(id);
  t.true(
    exported.includes(
      '"data":{"10":1,"9":2,"a":0,"b":[1],"€":"\\r\u2028\\"","😂":0.000001,"\ufb33":4.5e-7}',
    ),
    exported,
  );
  const record = JSON.parse(exported) as { history: object[] };
  t.is(canonicalize(record), exported);
  t.like(record, { object_id: id, canonical_version: 2 });
  t.deepEqual(Object.keys(record).toSorted(), [
    'canonical_version',
    'data',
    'exported_at',
    'history',
    'object_id',
  ]);
  t.is(record.history.length, 2);
  t.like(record.history[1], { version: 2, device_id: device.deviceId });

  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()),
      async (any) => {
        fc.pre(!JSON.stringify(any).includes('__proto__') && !/\\u0000/.test(JSON.stringify(any)));
        fc.pre(isWithinLimits(any));
        const made = await createObject(device, any);
        const { data: parsed } = JSON.parse(await text(made)) as { data: unknown };
        t.deepEqual(parsed, JSON.parse(JSON.stringify(any)));
      },
    ),
    { numRuns: 30 },
  );
});

test('an export of many versions is streamed, and fails where one is missing', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  const id = await createObject(device, { a: 1 });
  const { userId, tenantId } = device.api.caller;
  const sql = createSql(vault);
  await sql(
    `insert into sync_history (id, user_id, tenant_id, object_id, version, base_version, status,
       device_id, changed_at)
     select uuidv7(), $1, $2, $3, n, n - 1, 'APPLIED', $4, now() from generate_series(2, 2500) n`,
    [userId, tenantId, id, device.deviceId],
  );
  await sql('update sync_objects set version = 2500 where object_id = $1', [id]);
  const read = async () => {
    const response = await fetch(`${vault.baseUrl}/v1/sync/${id}/export`, {
      headers: { authorization: `Bearer ${device.api.token}`, 'x-device-id': device.deviceId },
    });
    t.is(response.status, 200);
    return response.text();
  };
  const text = await read();
  const record = JSON.parse(text) as { readonly history: readonly { readonly version: number }[] };
  t.is(canonicalize(record), text);
  t.deepEqual(
    record.history.map(({ version }) => version),
    Array.from({ length: 2500 }, (_, index) => index + 1),
  );
  await sql('delete from sync_history where object_id = $1 and version = 1500', [id]);
  await t.throwsAsync(read, undefined, 'the connection is cut, since versions are missing');
});

function isWithinLimits(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return typeof value !== 'object' || value === null || Object.values(value).every(isWithinLimits);
}

test('versions stay in order in the history if another process’s clock is ahead', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  const objectId = await createObject(device, {});
  const sql = createSql(vault);
  const ahead = `now() + interval '1 minute'`;
  await sql(`update sync_objects set last_modified_at = ${ahead} where object_id = $1`, [objectId]);
  await sql(
    `update sync_history set id = uuidv7(interval '1 minute'), recorded_at = ${ahead}
     where object_id = $1`,
    [objectId],
  );
  for (const version of [1, 2]) await device.write(change(objectId, version, { version }));
  await device.write(change(objectId, 1, { version: 7 }));
  await device.write(change(objectId, 3, { version: 3 }));
  const { body } = await device.get(`/v1/sync/${objectId}/history`);
  const history = body['history'] as { version: number; status: string; timestamp: string }[];
  t.deepEqual(
    history.map(({ version, status }) => `${version} ${status}`),
    ['1 APPLIED', '2 APPLIED', '3 APPLIED', '2 CONFLICT', '4 APPLIED'],
  );
  const times = history.map(({ timestamp }) => timestamp);
  t.deepEqual(times, times.toSorted());
});
