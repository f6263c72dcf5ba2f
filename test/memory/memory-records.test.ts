import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { createDevice, createOwner } from '../support/accounts/owner.ts';
import { manyAtOnce } from '../support/http/many-at-once.ts';
import { createApi, type Answer, type Api } from '../support/documents/uploads.ts';
import { sessionIdOf } from '../support/accounts/sessions.ts';
import { countStatuses } from '../support/documents/files.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

const path = '/v1/memory/records';
const createMember = (userId: string = randomUUID()) => createApi(vault, { userId });
const anyRecord = (bytes = 40) => randomBytes(bytes).toString('base64');

interface Item {
  readonly position: number;
  readonly writer: string;
  readonly number: number;
  readonly record: string;
}

const remove = async (api: Api, writer: string) => {
  const headers = { 'X-Reauth-Token': await vault.tokens.reauth(api.caller) };
  return api.send('DELETE', `${path}/${writer}`, { headers });
};

const add = (api: Api, json: object, headers: Record<string, string> = {}) =>
  api.send('POST', path, { json, headers });

interface Refusal {
  readonly status: number;
  readonly code: string;
}

function assertRefused(t: ExecutionContext, answer: Answer, { status, code }: Refusal): void {
  t.deepEqual([answer.status, answer.body['code']], [status, code]);
}

async function list(t: ExecutionContext, api: Api, query = ''): Promise<Item[]> {
  const { status, body } = await api.send('GET', `${path}${query}`);
  t.is(status, 200);
  return Object.values(body) as Item[];
}

test('records are listed in the order in which they were stored, from a position on', async (t) => {
  const api = await createMember();
  const [one, other] = [randomUUID(), randomUUID()];
  const sent = [
    { writer: one, number: 1, record: anyRecord() },
    { writer: other, number: 7, record: anyRecord() },
    { writer: one, number: 2, record: anyRecord() },
  ];
  for (const record of sent) t.is((await add(api, record)).status, 201);
  const found = await list(t, api);
  t.deepEqual(
    found.map(({ writer, number, record }) => ({ writer, number, record })),
    sent,
  );
  const [, second] = found;
  t.deepEqual(await list(t, api, `?cursor=${second?.position}`), found.slice(2));
  t.deepEqual(await list(t, await createMember()), [], 'nobody else sees them');
});

test('a page ends at 1 MiB, and the next one goes on after it', async (t) => {
  const api = await createMember();
  const writer = randomUUID();
  for (let number = 1; number <= 14; number += 1) {
    t.is((await add(api, { writer, number, record: anyRecord(65_536) })).status, 201);
  }
  const first = await api.send('GET', `${path}?limit=1000`);
  const items = Object.values(first.body) as Item[];
  t.true(items.length < 14);
  const next = `?cursor=${items.at(-1)?.position}`;
  t.true(first.headers.get('link')?.includes(next.slice(1)));
  t.is(items.length + (await list(t, api, next)).length, 14);
});

test('a number is taken once; a repeated record is not stored again', async (t) => {
  const api = await createMember();
  const writer = randomUUID();
  const record = anyRecord();
  const first = await add(api, { writer, number: 3, record });
  t.deepEqual((await add(api, { writer, number: 3, record })).body, first.body);
  for (const number of [1, 3]) {
    const again = await add(api, { writer, number, record: anyRecord() });
    assertRefused(t, again, { status: 409, code: 'memory_conflict' });
  }
  t.is((await list(t, api)).length, 1);
  const answers = await manyAtOnce(10, () => add(api, { writer, number: 4, record: anyRecord() }));
  t.deepEqual(countStatuses(answers), { 201: 1, 409: 9 });
});

test('a device discards its earlier records, and positions are never used again', async (t) => {
  const { token, userId } = await createOwner(vault);
  const writer = await createDevice(vault, token);
  const api = await createApi(vault, { userId, sessionId: sessionIdOf(token) });
  const other = randomUUID();
  const headers = { 'X-Device-Id': writer };
  await add(api, { writer: other, number: 1, record: anyRecord() });
  for (const number of [1, 2]) await add(api, { writer, number, record: anyRecord() }, headers);
  const last = { writer, number: 3, record: anyRecord(), discardBefore: 3 };
  assertRefused(t, await add(api, last), { status: 400, code: 'validation_failed' });
  t.is((await add(api, last, headers)).status, 201);
  const left = await list(t, api);
  t.deepEqual(
    left.map(({ writer: by, number }) => [by, number]),
    [
      [other, 1],
      [writer, 3],
    ],
  );
  t.is((await remove(api, writer)).status, 204);
  assertRefused(t, await remove(api, writer), {
    status: 404,
    code: 'not_found',
  });
  const { body } = await add(api, { writer, number: 1, record: anyRecord() }, headers);
  t.true(Number(body['position']) > Number(left.at(-1)?.position));
});

test('only the session of a device writes in its name', async (t) => {
  const { token, userId } = await createOwner(vault);
  const deviceId = await createDevice(vault, token);
  const bound = await createApi(vault, { userId, sessionId: sessionIdOf(token) });
  const free = await createMember(userId);
  const json = { writer: deviceId, number: 1, record: anyRecord() };
  const headers = { 'X-Device-Id': deviceId };
  assertRefused(t, await add(free, json), { status: 401, code: 'device_required' });
  const unknown = { status: 403, code: 'device_unknown' };
  assertRefused(t, await add(free, json, headers), unknown);
  assertRefused(t, await add(bound, json, { 'X-Device-Id': randomUUID() }), unknown);
  t.is((await add(bound, json, headers)).status, 201);
  t.is((await add(bound, { ...json, writer: randomUUID() }, headers)).status, 201);
  t.is((await add(free, { ...json, writer: randomUUID() })).status, 201);
});

test('malformed records are refused, and nothing is kept', async (t) => {
  const api = await createMember();
  const good = { writer: randomUUID(), number: 1, record: anyRecord() };
  const bad = [
    {},
    { ...good, writer: 'a' },
    { ...good, number: 0 },
    { ...good, number: 2 ** 31 },
    { ...good, number: 1.5 },
    { ...good, record: 'not base64' },
    { ...good, record: anyRecord(65_537) },
    { ...good, discardBefore: 0 },
    { ...good, other: true },
  ];
  for (const json of bad) {
    assertRefused(t, await add(api, json), { status: 400, code: 'validation_failed' });
  }
  assertRefused(t, await add(api, { ...good, record: anyRecord(100_000) }), {
    status: 413,
    code: 'body_too_large',
  });
  assertRefused(t, await add(api, good, { 'X-Device-Id': 'a' }), {
    status: 400,
    code: 'validation_failed',
  });
  for (const cursor of ['-1', 'a', '1e3']) {
    const answer = await api.send('GET', `${path}?cursor=${cursor}`);
    assertRefused(t, answer, { status: 400, code: 'validation_failed' });
  }
  t.deepEqual(await list(t, api), []);
});

test('a user keeps 4,000 records at most', async (t) => {
  const api = await createMember();
  await sql(
    `insert into memory_records (user_id, tenant_id, writer, number, record)
     select $1, 'default', $2, n, '' from generate_series(1, 4000) n`,
    [api.caller.userId, randomUUID()],
  );
  const full = await add(api, { writer: randomUUID(), number: 1, record: anyRecord() });
  assertRefused(t, full, { status: 429, code: 'quota_exceeded' });
});

test('every record leaves an entry without its content', async (t) => {
  const api = await createMember();
  const writer = randomUUID();
  await add(api, { writer, number: 5, record: anyRecord() });
  assertRefused(t, await api.send('DELETE', `${path}/${writer}`), {
    status: 401,
    code: 'reauth_required',
  });
  await remove(api, writer);
  const rows = await sql(
    `select canonical from audit_entries
     where resource_type = 'memory' and resource_id = $1 order by seq`,
    [writer],
  );
  const entries = rows.map(
    ({ canonical }) => JSON.parse(String(canonical)) as { action: string; data: object },
  );
  t.deepEqual(
    entries.map(({ action, data }) => ({ action, data })),
    [
      { action: 'memory.recorded', data: { number: 5 } },
      { action: 'memory.removed', data: { records: 1 } },
    ],
  );
});
