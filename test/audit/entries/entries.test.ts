import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import type { KyselyPlugin } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { createEntries } from '../../../app/audit/entries/entries.ts';
import type { Database } from '../../../app/db/database.ts';
import { createApi, type Api } from '../../support/documents/uploads.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { eventOf, openTrail } from '../../support/audit/entries.ts';
import { become, sealEntries } from '../sealing/sealed.ts';
import { serviceRequest } from '../../support/http/service-request.ts';
import { nextPage } from '../../support/http/next-page.ts';
import { appending } from '../../support/audit/log-rows.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

interface Item {
  readonly id: string;
  readonly action: string;
  readonly recordedAt: string;
  readonly [more: string]: unknown;
}

/** Reads one page; returns its items and the path of the next page. */
async function readPage(api: Api, path: string) {
  const { status, body, headers } = await api.send('GET', path);
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
  return { items: body['entries'] as Item[], next: nextPage(path, headers) };
}

const list = async (api: Api, query = '') =>
  (await readPage(api, `/v1/audit/entries${query}`)).items;
const idsOf = (items: readonly Item[]) => items.map(({ id }) => id);

test('a caller’s entries come newest first, page by page, each exactly once', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const ids = await sealEntries(vault, sql, api.caller, 7);
  await sealEntries(vault, sql, (await createApi(vault)).caller, 1);
  const found: string[] = [];
  const sizes: number[] = [];
  let path: string | undefined = '/v1/audit/entries?action=upload.created&limit=3';
  while (path !== undefined) {
    const { items, next } = await readPage(api, path);
    found.push(...idsOf(items));
    sizes.push(items.length);
    path = next;
  }
  t.deepEqual(found, ids.toReversed());
  t.deepEqual(sizes, [3, 3, 1]);
});

test('a listed entry matches its canonical text and its state', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const [sealed = '', pending, dead, abandoned, erased = ''] = await sealEntries(
    vault,
    sql,
    api.caller,
    5,
  );
  await sql(become.pending, [pending]);
  await sql(become.dead, [dead]);
  await sql(become.abandoned, [abandoned]);
  await sql(become.erased, [erased]);
  const items = (await list(api)).toReversed();
  t.deepEqual(
    items.map(({ state }) => state),
    ['SEALED', 'PENDING', 'DEAD', 'ABANDONED', 'ERASED'],
  );
  const [stored = {}] = await sql('select * from audit_entries where id = $1', [sealed]);
  t.deepEqual(items[0] as unknown, {
    id: sealed,
    action: 'upload.created',
    resource: { type: 'upload', id: stored.resource_id },
    seq: 1,
    actor: { type: 'user', id: api.caller.userId },
    outcome: 'success',
    state: 'SEALED',
    recordedAt: items[0]?.recordedAt,
    sealedAt: (stored.sealed_at as Date).toISOString(),
    data: { fileSize: 1, totalParts: 1 },
  });
  const apart = Date.parse(items[0]?.recordedAt ?? '') - (stored.created_at as Date).getTime();
  t.true(Math.abs(apart) < 60_000);
  t.is(items[1]?.sealedAt, null);
  t.like(items[4], { id: erased, actor: null, outcome: null, data: null, seq: 1 });
});

test('filters match exactly, alone and together', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const trail = await openTrail(vault, api.caller);
  t.teardown(() => trail.close());
  const append = (
    resource: { type: string; id: string },
    action: 'upload.created' | 'upload.aborted',
  ) =>
    trail.db.asUser(trail.owner, (tx) =>
      trail.trail.append(tx, eventOf(trail.owner, '', { resource, action })),
    );
  const [x, y] = [randomUUID(), randomUUID()];
  const a = await append({ type: 'upload', id: x }, 'upload.created');
  const b = await append({ type: 'upload', id: x }, 'upload.aborted');
  const c = await append({ type: 'upload', id: y }, 'upload.created');
  const d = await append({ type: 'document', id: x }, 'upload.created');
  const cases: [query: string, expected: string[]][] = [
    [`?resourceType=upload`, [c, b, a]],
    [`?resourceId=${x}`, [d, b, a]],
    [`?resourceId=${x.toUpperCase()}`, [d, b, a]],
    [`?resourceType=upload&resourceId=${x}`, [b, a]],
    ['?action=upload.created', [d, c, a]],
    [`?action=upload.created&resourceId=${x}`, [d, a]],
    [`?action=upload.aborted&resourceType=upload&resourceId=${x}`, [b]],
    ['?action=upload', []],
    ['?action=UPLOAD.CREATED', []],
    ['?resourceType=account', []],
    [`?cursor=${c}&resourceType=upload`, [b, a]],
  ];
  for (const [query, expected] of cases)
    t.deepEqual(idsOf(await list(api, query)), expected, query);
});

test('a time range includes its start and excludes its end', async (t) => {
  const { vault } = t.context;
  const api = await createApi(vault);
  const trail = await openTrail(vault, api.caller);
  t.teardown(() => trail.close());
  const now = new Date();
  // The log has a partition for the present month, and none for those before the vault was made.
  const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  const ids: string[] = [];
  for (const at of [0, 1, 1, 2]) {
    const entryId = uuidv7({ msecs: start + at });
    await trail.db.asUser(trail.owner, (tx) =>
      trail.trail.append(tx, eventOf(trail.owner, randomUUID(), { entryId })),
    );
    ids.push(entryId);
  }
  ids.sort();
  const [first = '', second = '', third = '', fourth = ''] = ids;
  const time = (ms: number) => new Date(start + ms).toISOString();
  const cases: [query: string, expected: string[]][] = [
    [`?from=${time(0)}&to=${time(3)}`, [fourth, third, second, first]],
    [`?from=${time(1)}`, [fourth, third, second]],
    [`?to=${time(1)}`, [first]],
    [`?from=${time(1)}&to=${time(2)}`, [third, second]],
    [`?from=${time(2)}&to=${time(1)}`, []],
    [`?from=${time(3)}`, []],
    [`?to=${new Date(start).toISOString().replace('.000', '')}`, []],
    ['?from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59.999Z', [fourth, third, second, first]],
  ];
  for (const [query, expected] of cases)
    t.deepEqual(idsOf(await list(api, query)), expected, query);
  const [shown] = await list(api, `?from=${time(2)}`);
  t.is(shown?.recordedAt, time(2));
  const { next } = await readPage(api, `/v1/audit/entries?from=${time(1)}&limit=2`);
  t.deepEqual(idsOf((await readPage(api, next ?? '')).items), [second]);
});

test('entries are visible to their owner and to auditors only', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const [id] = await sealEntries(vault, sql, api.caller, 1);
  const [row] = await sql('select resource_id from audit_entries where id = $1', [id]);
  const query = `?resourceType=upload&resourceId=${String(row?.resource_id)}`;
  const asked = async (as: Parameters<typeof createApi>[1]) =>
    idsOf(await list(await createApi(vault, as), query));
  t.deepEqual(await asked({}), []);
  t.deepEqual(await asked({ roles: ['user', 'operator'] }), []);
  t.deepEqual(await asked({ userId: api.caller.userId, tenantId: 'other' }), []);
  t.deepEqual(await asked({ roles: ['auditor'] }), [id]);
  t.deepEqual(await asked({ roles: ['probatio_admin'] }), [id]);
});

test('an entry whose text was corrupted is listed without actor and data', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const [id] = await sealEntries(vault, sql, api.caller, 1);
  for (const text of ['no JSON', '7', '{}', '{"actor":{"type":"devil"}}']) {
    await sql('update audit_log set canonical = $2 where id = $1', [id, text]);
    const [item] = await list(api);
    t.like(item, { id, action: 'upload.created', state: 'SEALED', actor: null, data: null }, text);
  }
});

test('a rare action among many entries is found across pages, some of them empty', async (t) => {
  const { vault, sql } = t.context;
  const api = await createApi(vault);
  const { userId } = api.caller;
  const insert = appending(`
    select uuidv7(), $1::uuid, 'default', 'upload', $1::text, $2::int + i, $3::text, '{}'
    from generate_series(1, $4::int) i`);
  await sql(insert, [userId, 0, 'upload.expired', 1]);
  await sql(insert, [userId, 1, 'upload.created', 12_000]);
  const empty = await readPage(api, '/v1/audit/entries?action=upload.expired');
  t.deepEqual(empty.items, []);
  const last = await readPage(api, empty.next ?? '');
  t.deepEqual(
    last.items.map(({ action, seq }) => [action, seq]),
    [['upload.expired', 1]],
  );
  t.is(last.next, undefined);
});

for (const owners of [3, 150]) {
  test(`the entries of a resource of ${owners} owners are listed, newest first`, async (t) => {
    const { vault, sql } = t.context;
    const [tenantId, resourceId] = [randomUUID(), randomUUID()];
    const insert = appending(`
      select uuidv7(), gen_random_uuid(), $1, 'sync_object', $2, 1, 'sync.changed', '{}'
      from generate_series(1, $3::int)`);
    const rows = await sql(`${insert} returning id`, [tenantId, resourceId, owners]);
    await sql(insert, [tenantId, randomUUID(), 10]);
    const auditor = await createApi(vault, { tenantId, roles: ['auditor'] });
    const found: string[] = [];
    let path: string | undefined = `/v1/audit/entries?resourceId=${resourceId}&limit=100`;
    while (path !== undefined) {
      const page = await readPage(auditor, path);
      found.push(...idsOf(page.items));
      path = page.next;
    }
    const ids = rows.map(({ id }) => String(id));
    t.deepEqual(found, ids.toSorted().toReversed());
  });
}

test('entries that arrive between two pages make no entry appear twice', async (t) => {
  const { vault, sql } = t.context;
  const owner = { userId: randomUUID(), tenantId: 'default' };
  const insert = appending(`
    select uuidv7(), $1::uuid, 'default', 'upload', $1::text, $2::int + i, $3::text, '{}'
    from generate_series(1, $4::int) i`);
  await sql(insert, [owner.userId, 0, 'upload.created', 5]);
  await sql(insert, [owner.userId, 5, 'upload.expired', 1]);
  await sql(insert, [owner.userId, 6, 'upload.created', 9_999]);
  const trail = await openTrail(vault, owner);
  t.teardown(() => trail.close());
  let statements = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      statements += 1;
      if (statements === 2) await sql(insert, [owner.userId, 20_000, 'upload.created', 3]);
      return result;
    },
  };
  const db: Database = {
    ...trail.db,
    asUser: (as, work) => trail.db.asUser(as, (tx) => work(tx.withPlugin(plugin))),
  };
  const { caller } = await createApi(vault, owner);
  const entries = createEntries({ db });
  const reader = serviceRequest({
    ...caller,
    issuer: 'https://issuer.test',
    expiresAt: new Date(),
  });
  const query = { action: 'upload.expired', limit: 10 };
  const first = await entries.list(reader, query);
  const second = await entries.list(reader, { ...query, cursor: first.cursor });
  t.deepEqual([first.entries.length, second.entries.length], [1, 0]);
});

test('a malformed query is refused', async (t) => {
  const api = await createApi(t.context.vault);
  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=ten',
    'cursor=7',
    'from=yesterday',
    'from=2026-01-01',
    'to=2026-13-01T00:00:00.000Z',
    'to=2026-01-01T00:00:00%2B02:00',
    'resourceType=',
    'action=',
    `resourceId=${'x'.repeat(513)}`,
    'action=a&action=b',
    'resourceId=%00',
    'owner=me',
  ]) {
    const { status } = await api.send('GET', `/v1/audit/entries?${query}`);
    t.is(status, 400, query);
  }
});
