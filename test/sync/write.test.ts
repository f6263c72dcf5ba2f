import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';
import { change, codeOf, createDevice, createTwo, createObject } from '../support/sync/devices.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql; directory: string }>;

const rules = {
  note: {
    public: ['/count', '/tags'],
    rules: {
      '/title': 'LAST_WRITE_WINS',
      '/count': 'MAX',
      '/tags': 'UNION',
      '/pin': 'SERVER_WINS',
    },
  },
  '*': { rules: { '/any': 'CLIENT_WINS' } },
};

test.before(async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-rules-'));
  const file = path.join(directory, 'rules.json');
  await writeFile(file, JSON.stringify(rules));
  const vault = await startVault({ SYNC_RULES_FILE: file });
  t.context = { vault, sql: createSql(vault), directory };
});
test.after.always(async (t) => {
  await t.context.vault.stop();
  await rm(t.context.directory, { recursive: true });
});

test('an object is created, changed and deleted, and each version leaves its entry', async (t) => {
  const { vault, sql } = t.context;
  const device = await createDevice(vault);
  const objectId = randomUUID();
  const made = await device.create({ objectId: objectId.toUpperCase(), data: { b: [1], a: null } });
  t.is(made.status, 201);
  const { lastModifiedAt, ...rest } = made.body;
  t.deepEqual(rest, { objectId, version: 1, data: { b: [1], a: null } });
  t.is(new Date(String(lastModifiedAt)).toISOString(), String(lastModifiedAt));

  const changed = await device.write(change(objectId, 1, { a: { x: 1 }, b: null }));
  t.is(changed.status, 200);
  t.like(changed.body, { status: 'APPLIED', objectId, version: 2, ruleApplied: null });
  t.deepEqual(changed.body['data'], { a: { x: 1 } });
  const { body } = await device.get(`/v1/sync/${objectId}`);
  const now = changed.body['lastModifiedAt'];
  t.deepEqual(body, { objectId, version: 2, data: { a: { x: 1 } }, lastModifiedAt: now });

  const gone = await device.write({ objectId, version: 3, baseVersion: 2, deleted: true });
  t.like(gone.body, { status: 'APPLIED', version: 3, data: null, ruleApplied: null });
  const { history } = (await device.get(`/v1/sync/${objectId}/history`)).body;
  t.like(history, [
    { version: 1, timestamp: lastModifiedAt },
    { version: 2, timestamp: now },
    { version: 3, timestamp: gone.body['lastModifiedAt'] },
  ]);
  t.is((await device.get(`/v1/sync/${objectId}`)).status, 404);
  t.is((await device.get(`/v1/sync/${objectId}/export`)).status, 404);
  t.is((await device.create({ objectId, data: {} })).body['code'], 'object_exists');

  const entries = await sql(
    'select action, seq, canonical from audit_entries where resource_id = $1 order by seq',
    [objectId],
  );
  t.deepEqual(
    entries.map(({ action, seq }) => [action, Number(seq)]),
    [
      ['sync.created', 1],
      ['sync.changed', 2],
      ['sync.deleted', 3],
    ],
  );
  t.like(JSON.parse(String(entries[1]?.['canonical'])), {
    outcome: 'success',
    resource: { type: 'sync_object' },
    data: { version: 2, baseVersion: 1, deviceId: device.deviceId },
  });
});

test('changes of different fields merge, and the response says so', async (t) => {
  const [one, two] = await createTwo(t.context.vault);
  const id = await createObject(one, { a: 1, b: { c: 2, d: 3 } });
  t.is((await one.write(change(id, 1, { b: { c: 5 } }))).status, 200);
  const merged = await two.write(change(id, 1, { b: { d: 6 } }));
  t.like(merged.body, { status: 'APPLIED', version: 3, ruleApplied: 'FIELD_MERGE' });
  t.deepEqual(merged.body['data'], { a: 1, b: { c: 5, d: 6 } });
  const same = await two.write(change(id, 1, { b: { c: 5 } }));
  t.like(same.body, { version: 4, ruleApplied: 'IDENTICAL' });
});

test('a conflict is an error with the fields, is recorded, and changes nothing', async (t) => {
  const { vault, sql } = t.context;
  const [one, two] = await createTwo(vault);
  const id = await createObject(one, { a: { b: 1, c: 1 }, d: 1 });
  await one.write(change(id, 1, { a: { b: 2 }, d: 2 }));
  const { status, body } = await two.write(change(id, 1, { a: null, d: 3 }));
  t.is(status, 409);
  t.like(body, {
    statusCode: 409,
    error: 'Conflict',
    code: 'sync_conflict',
    path: '/v1/sync',
    status: 'CONFLICT',
    objectId: id,
    conflictType: 'CONCURRENT_MODIFICATION',
    serverVersion: 2,
    clientVersion: 2,
  });
  t.deepEqual(body['fields'], ['/a/b', '/d']);
  t.deepEqual(body['serverData'], { a: { b: 2, c: 1 }, d: 2 });
  const { body: now } = await one.get(`/v1/sync/${id}`);
  t.like(now, { version: 2 });
  const history = (await one.get(`/v1/sync/${id}/history`)).body['history'] as object[];
  t.is(history.length, 3);
  t.like(history.at(-1), {
    version: 2,
    baseVersion: 1,
    status: 'CONFLICT',
    conflictType: 'CONCURRENT_MODIFICATION',
    ruleApplied: null,
    deviceId: two.deviceId,
  });
  const [entry] = await sql(
    `select canonical from audit_entries where resource_id = $1 and action = 'sync.conflicted'`,
    [id],
  );
  t.like(JSON.parse(String(entry?.['canonical'])), { outcome: 'failure' });
});

test('a deleted object and a version ahead of the server are own conflict types', async (t) => {
  const [one, two] = await createTwo(t.context.vault);
  const id = await createObject(one, { a: 1 });
  const ahead = await two.write(change(id, 5, { a: 2 }));
  t.is(ahead.status, 409);
  t.like(ahead.body, { conflictType: 'VERSION_AHEAD', serverVersion: 1, clientVersion: 6 });
  t.deepEqual(ahead.body['serverData'], { a: 1 });
  await one.write({ objectId: id, version: 2, baseVersion: 1, deleted: true });
  for (const write of [
    change(id, 1, { a: 2 }),
    change(id, 2, { a: 2 }),
    { objectId: id, version: 2, baseVersion: 1, deleted: true },
  ]) {
    const { status, body } = await two.write(write);
    t.is(status, 409);
    t.like(body, { conflictType: 'DELETED_ON_SERVER', serverVersion: 2, serverData: null });
    t.deepEqual(body['fields'], []);
  }
});

test('a changed object is deleted only by a request that knows the change', async (t) => {
  const [one, two] = await createTwo(t.context.vault);
  const id = await createObject(one, { a: 1, b: 1 });
  await one.write(change(id, 1, { a: 2 }));
  const removal = (base: number) => ({
    objectId: id,
    version: base + 1,
    baseVersion: base,
    deleted: true,
  });
  const refused = await two.write(removal(1));
  t.is(refused.status, 409);
  t.deepEqual(refused.body['fields'], ['/a']);
  t.is((await two.write(removal(2))).status, 200);
});

test('a missing base means version 0: every existing field counts as changed', async (t) => {
  const device = await createDevice(t.context.vault);
  const id = await createObject(device, { a: 1 });
  const write = (delta: object) =>
    device.write({ objectId: id, version: 1, baseVersion: null, delta });
  t.deepEqual((await write({ a: 2 })).body['fields'], ['/a']);
  t.deepEqual((await write({ b: 2 })).body['data'], { a: 1, b: 2 });
});

test('the rules of the object’s type resolve fields that both devices changed', async (t) => {
  const [lesser = '', greater = ''] = [randomUUID(), randomUUID()].toSorted();
  const [one, two] = await createTwo(t.context.vault, [lesser, greater]);
  const first = { title: 'a', count: 1, tags: ['a'], pin: 1, any: 1 };
  const minute = (n: number) => new Date(Date.now() - 3_600_000 + n * 60_000).toISOString();
  const id = await createObject(one, first, 'note');
  await one.write(change(id, 1, { title: 'b', count: 5, tags: ['b'], pin: 2 }, minute(5)));
  const late = await two.write(
    change(id, 1, { title: 'c', count: 3, tags: ['c'], pin: 3 }, minute(4)),
  );
  t.deepEqual(late.body['data'], { title: 'b', count: 5, tags: ['b', 'c'], pin: 2, any: 1 });
  t.is(late.body['ruleApplied'], 'LAST_WRITE_WINS,MAX,SERVER_WINS,UNION');
  const tie = await two.write(change(id, 1, { title: 'd' }, minute(5)));
  t.like(tie.body, { version: 4, ruleApplied: 'LAST_WRITE_WINS' });
  t.like(tie.body['data'], { title: 'd' });
  t.deepEqual((await two.write(change(id, 1, { any: 2 }))).body['ruleApplied'], 'FIELD_MERGE');
  t.deepEqual((await one.write(change(id, 1, { any: 3 }))).body['fields'], ['/any']);

  const other = await createObject(one, first, 'constructor');
  await one.write(change(other, 1, { any: 2, title: 'b' }));
  t.deepEqual((await two.write(change(other, 1, { any: 3 }))).body['ruleApplied'], 'CLIENT_WINS');
  t.deepEqual((await two.write(change(other, 1, { title: 'c' }))).body['fields'], ['/title']);
});

test('names of prototypes and numbers at the limit are stored as data', async (t) => {
  const device = await createDevice(t.context.vault);
  const data = {
    constructor: { prototype: { x: 1 } },
    toString: 'y',
    n: 2 ** 53 - 1,
    m: -(2 ** 53 - 1),
  };
  const id = await createObject(device, data);
  t.is((await device.write(change(id, 1, { constructor: { name: 'z' } }))).status, 200);
  const { body } = await device.get(`/v1/sync/${id}`);
  t.deepEqual(body['data'], { ...data, constructor: { prototype: { x: 1 }, name: 'z' } });
});

/** 1024 fields whose JSON Pointers have 1 MiB together; `more` is appended to the last name. */
const longPaths = (more: string) => {
  const names = Array.from({ length: 1024 }, (_, index) => String(index).padStart(4, '0'));
  const fields = names.map((name, index) => [index === 1023 ? name + more : name, 0]);
  return { ['k'.repeat(1018)]: Object.fromEntries(fields) as Record<string, number> };
};

test('the total length of the JSON Pointers of an object is limited', async (t) => {
  const { vault, sql } = t.context;
  const device = await createDevice(vault);
  const refused = { objectId: randomUUID(), data: longPaths('x') };
  t.is(codeOf(await device.create(refused)), '400 paths_too_long');
  const empty = await createObject(device, {});
  t.is(codeOf(await device.write(change(empty, 1, longPaths('x')))), '400 paths_too_long');
  const id = await createObject(device, longPaths(''));
  t.is(codeOf(await device.write(change(id, 1, { a: 1 }))), '400 paths_too_long');
  const known = await sql('select object_id, version from sync_objects where user_id = $1', [
    device.api.caller.userId,
  ]);
  t.deepEqual(
    new Map(known.map((row) => [row['object_id'], row['version']])),
    new Map([
      [empty, 1],
      [id, 1],
    ]),
  );
  const removed = Object.fromEntries(Object.keys(longPaths('')).map((name) => [name, null]));
  t.is((await device.write(change(id, 1, { ...removed, a: 1 }))).status, 200);
});
