import anyTest, { type TestFn } from 'ava';
import { ClientError } from '../../../client/errors/client-error.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import type { TestVault } from '../../support/vault/vault.ts';
import { gather } from '../../support/client/collect.ts';
import { recordingFetch } from '../../support/client/recording-fetch.ts';
import { createUser, dataOf, openDevice, set, shareObject, startRulesVault } from './devices.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startRulesVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

test('objects created, changed and removed offline reach the other devices in order', async (t) => {
  const { one, two, id } = await shareObject(t.context.vault, { a: { x: 1, y: null }, e: {} });
  t.deepEqual(await dataOf(two.sync, id), { a: { x: 1, y: null }, e: {} });
  const seen: string[] = [];
  const end = one.sync.subscribe((ids) => seen.push(...ids));
  await set(two.sync, id, { b: ['new', null] });
  await two.sync.change(id, ({ b, e }) => ({ b, e }));
  t.like(await two.sync.get(id), { version: 1, isPending: true });
  t.like(await two.sync.sync(), { sent: 1, conflicts: 0 });
  t.like(await one.sync.sync(), { received: 1, sent: 0 });
  t.deepEqual(await dataOf(one.sync, id), { b: ['new', null], e: {} });
  t.deepEqual(seen, [id]);
  end();

  await one.sync.remove(id);
  t.deepEqual(one.sync.list(), []);
  t.is(await one.sync.get(id), undefined);
  await t.throwsAsync(one.sync.remove(id), { instanceOf: RangeError });
  await t.throwsAsync(set(one.sync, id, {}), { instanceOf: RangeError });
  await one.sync.sync();
  await two.sync.sync();
  t.deepEqual(two.sync.list(), []);
  t.deepEqual(seen, [id]);
});

test('the vault sees names and public fields, and a change sends only differences', async (t) => {
  const data = { title: 'secret', a: { x: 'secret', y: 1 }, tags: ['t'] };
  const { one, two, id } = await shareObject(t.context.vault, data, {}, 'note');
  const before = (await one.raw.get(`/v1/sync/${id}`)).body['data'] as Record<string, unknown>;
  t.deepEqual(Object.keys(before).toSorted(), ['$devices', '$type', 'a', 'tags', 'title']);
  t.deepEqual(before['tags'], ['t']);
  t.false(JSON.stringify(before).includes('secret'));
  t.is((await two.sync.get(id))?.objectType, 'note');

  await two.sync.change(id, (data) => ({ ...data, a: { x: 'other', y: 1 } }));
  await two.sync.sync();
  const after = (await one.raw.get(`/v1/sync/${id}`)).body['data'] as Record<string, unknown>;
  const y = (of: Record<string, unknown>) => (of['a'] as Record<string, unknown>)['y'];
  t.is(y(after), y(before));
  t.is(after['title'], before['title']);

  await set(two.sync, id, { title: 'else' });
  await set(two.sync, id, { title: 'secret' });
  t.deepEqual(two.sync.pending(), [], 'a change that was reverted is not sent');
});

test('an object that is no JSON or has refused names throws before it is queued', async (t) => {
  const { sync } = await openDevice(t.context.vault, createUser());
  const bad: unknown[] = [undefined, [], { a: undefined }, { a: Number.NaN }, { a: [new Date()] }];
  const circle: Record<string, unknown> = {};
  circle['a'] = [circle];
  const names = [
    { $type: 'x' },
    { $devices: {} },
    JSON.parse('{"__proto__":1}'),
    { 'a\0': 1 },
    { a: { '\ud800': 1 } },
    JSON.parse('{"a":[{"__proto__":1}]}'),
    circle,
  ];
  for (const data of [...bad, ...(names as unknown[])]) {
    const creation = sync.create({ data: data as Record<string, unknown> });
    await t.throwsAsync(creation, { instanceOf: TypeError });
  }
  for (const objectType of ['', 'my note', 'a/b', 'x'.repeat(65)]) {
    await t.throwsAsync(sync.create({ objectType, data: {} }), { instanceOf: TypeError });
  }
  t.deepEqual(sync.pending(), []);
});

test('a lost response and a crash after it create one version', async (t) => {
  let isLost = false;
  const lossy: typeof globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (isLost && init?.method === 'POST') throw new TypeError('the response is lost');
    return response;
  };
  const { vault, sql } = t.context;
  const { one, two, id } = await shareObject(vault, { a: 1 }, { fetch: lossy });
  isLost = true;
  await set(two.sync, id, { a: 2 });
  const other = await two.sync.create({ data: { b: 1 } });
  await t.throwsAsync(two.sync.sync(), { code: 'network_error' });
  await set(two.sync, id, { a: 3 });
  await set(one.sync, id, { c: 1 });
  await one.sync.sync();
  isLost = false;
  const revived = await two.reopen();
  t.deepEqual(await dataOf(revived, id), { a: 3 });
  // The vault has forgotten the request of the creation by now.
  await sql(
    `delete from sync_requests where request_id in
     (select sync_request_id from sync_history where object_id = $1)`,
    [other],
  );
  t.like(await revived.sync(), { sent: 3, conflicts: 0 });
  t.deepEqual(revived.pending(), []);
  t.deepEqual(await dataOf(revived, id), { a: 3, c: 1 });
  const versions = await sql(
    `select object_id = $1 as first, version from sync_history
     where object_id in ($1, $2) order by 1 desc, 2`,
    [id, other],
  );
  t.deepEqual(
    versions.map(({ first, version }) => [first, version]),
    [
      [true, 1],
      [true, 2],
      [true, 3],
      [true, 4],
      [false, 1],
    ],
  );
});

test('a refused object is set aside until it is corrected, and the others are sent', async (t) => {
  const { sync } = await openDevice(t.context.vault, createUser());
  const large = await sync.create({ data: { a: 'x'.repeat(600_000) } });
  const small = await sync.create({ data: { a: 1 } });
  t.like(await sync.sync(), { sent: 1 });
  t.like(await sync.get(small), { version: 1, isPending: false });
  t.like(sync.pending(), [
    { objectId: large, kind: 'create', refusal: { code: 'data_too_large' } },
  ]);
  t.like(await sync.sync(), { sent: 0 });
  await sync.change(large, () => ({ a: 'small' }));
  t.like(await sync.sync(), { sent: 1 });
  t.deepEqual(sync.pending(), []);
  await sync.change(large, () => ({ a: 'x'.repeat(600_000) }));
  await sync.sync();
  await sync.discard(large);
  t.deepEqual(await dataOf(sync, large), { a: 'small' });
});

test('a change made while its object is being refused is not lost or delayed', async (t) => {
  let meanwhile = async () => {};
  const slow: typeof globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (response.status === 400) await meanwhile();
    return response;
  };
  const { vault } = t.context;
  const { one, two, id } = await shareObject(vault, { a: 'a', b: 'b' }, { fetch: slow });
  const tooLarge = 'x'.repeat(600_000);
  const once = (act: () => Promise<unknown>) => {
    meanwhile = async () => {
      meanwhile = async () => {};
      await act();
    };
  };
  once(() => set(two.sync, id, { a: 'mended' }));
  await set(two.sync, id, { a: tooLarge, b: 'changed' });
  t.like(await two.sync.sync(), { sent: 1 });
  t.deepEqual(two.sync.pending(), []);
  t.deepEqual(await dataOf(two.sync, id), { a: 'mended', b: 'changed' });

  once(() => set(two.sync, id, { c: 1 }));
  await set(two.sync, id, { a: tooLarge });
  await two.sync.sync();
  t.like(two.sync.pending(), [{ refusal: { code: 'data_too_large' } }]);
  await one.sync.sync();
  await set(one.sync, id, { a: 'of the other' });
  await one.sync.sync();
  await two.sync.sync();
  await set(two.sync, id, { a: 'small' });
  await two.sync.sync();
  t.deepEqual(two.sync.pending(), []);
  t.deepEqual(await dataOf(two.sync, id), { a: 'small', b: 'changed', c: 1 });

  once(() => two.sync.remove(id));
  await set(two.sync, id, { a: tooLarge });
  t.like(await two.sync.sync(), { sent: 1 });
  t.deepEqual([two.sync.pending(), two.sync.list()], [[], []]);
  await one.sync.sync();
  t.deepEqual(one.sync.list(), []);

  const unborn = await two.sync.create({ data: { a: tooLarge } });
  once(() => two.sync.remove(unborn));
  t.like(await two.sync.sync(), { sent: 0 });
  t.deepEqual([two.sync.pending(), two.sync.list()], [[], []]);
});

test('a clock hours off writes the time of the vault, with and without its Date', async (t) => {
  const { vault, sql } = t.context;
  const undated: typeof globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    const headers = new Headers(response.headers);
    headers.delete('date');
    return new Response(response.body, { status: response.status, headers });
  };
  for (const [hours, fetch] of [
    [-30, globalThis.fetch],
    [7, globalThis.fetch],
    [7, undated],
  ] as const) {
    const now = () => new Date(Date.now() + hours * 3_600_000);
    const { sync } = await openDevice(vault, createUser(), { now, fetch });
    const id = await sync.create({ data: { a: 1 } });
    await sync.sync();
    await sync.change(id, () => ({ a: 2 }));
    t.like(await sync.sync(), { sent: 1 });
    const [row] = await sql(
      `select changed_at - recorded_at as late from sync_history
       where object_id = $1 and version = 2`,
      [id],
    );
    const late = JSON.stringify(row?.['late']);
    t.false(/hours|minutes|days/.test(late), late);
  }
});

test('an object that does not open delays no other', async (t) => {
  const { one, two, id } = await shareObject(t.context.vault, { a: 1 });
  const ofNoVersion = '12345678-1234-0234-0234-123456789abc';
  await one.raw.create({ objectId: ofNoVersion, data: {} }, { 'x-sync-request-id': ofNoVersion });
  await one.raw.write({ objectId: id, version: 2, baseVersion: 1, delta: { a: 'in the clear' } });
  await set(two.sync, id, { a: 2 });
  const other = await two.sync.create({ data: { a: 1 } });
  const { code } = await t.throwsAsync(two.sync.sync(), { instanceOf: ClientError });
  t.true(['invalid_leaf', 'rolled_back'].includes(code), 'either object may be read first');
  t.is(await two.sync.get(ofNoVersion), undefined);
  t.like(await gather(two.sync.history(ofNoVersion)), [{ syncRequestId: ofNoVersion }]);
  t.like(two.sync.pending(), [{ objectId: id, refusal: undefined }]);
  await two.sync.discard(id);
  t.deepEqual(await dataOf(two.sync, id), { a: 1 });
  await t.throwsAsync(one.sync.sync(), { instanceOf: ClientError });
  t.deepEqual(await dataOf(one.sync, other), { a: 1 });
});

test('a refused schema version or device leaves everything in the queue', async (t) => {
  const { vault, sql } = t.context;
  const device = await openDevice(vault, createUser(), { schemaVersion: 99 });
  await device.sync.create({ data: { a: 1 } });
  await t.throwsAsync(device.sync.sync(), { code: 'schema_version_unsupported' });
  const updated = await device.reopen({ schemaVersion: 1 });
  const { deviceId } = device.raw;
  await sql('update devices set revoked_at = now() where device_id = $1', [deviceId]);
  await t.throwsAsync(updated.sync(), { code: 'device_blacklisted' });
  await sql('update devices set revoked_at = null where device_id = $1', [deviceId]);
  t.is(updated.pending().length, 1);
  t.like(await updated.sync(), { sent: 1 });
});

test('one synchronisation runs at a time, and later calls share the next one', async (t) => {
  const { fetch, sent } = recordingFetch();
  const { sync } = await openDevice(t.context.vault, createUser(), { fetch });
  await sync.create({ data: { a: 1 } });
  const first = sync.sync();
  await sync.create({ data: { b: 1 } });
  const reports = await Promise.all([first, sync.sync(), sync.sync()]);
  t.is(reports[1], reports[2]);
  t.is(sent.filter(({ method }) => method === 'POST').length, 2);
  t.deepEqual(sync.pending(), []);
});

test('history and export contain every version, with the data in plaintext', async (t) => {
  const { one, two, id } = await shareObject(t.context.vault, { a: 1 }, {}, 'note');
  await set(two.sync, id, { a: 2 });
  await two.sync.sync();
  const history = await gather(one.sync.history(id));
  const devices = [one.raw.deviceId, two.raw.deviceId];
  t.deepEqual(
    history.map(({ version, deviceId }) => [version, deviceId]),
    devices.map((deviceId, index) => [index + 1, deviceId]),
  );
  const record = await one.sync.export(id);
  t.like(record, { objectId: id, objectType: 'note', version: 2, data: { a: 2 } });
  t.deepEqual(
    record.history.map(({ deviceId }) => deviceId),
    devices,
  );
});
