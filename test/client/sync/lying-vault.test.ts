import anyTest, { type TestFn } from 'ava';
import { createInMemoryStore } from '../../../client/sync/stores/in-memory-store.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { gather } from '../../support/client/collect.ts';
import { createUser, dataOf, openDevice, set } from './devices.ts';

const test = anyTest as TestFn<{ vault: Vault }>;

test.before(async (t) => {
  t.context = { vault: sharedVault() };
});

type Body = Record<string, unknown>;

interface Lie {
  readonly status?: number;
  readonly body: Body;
  readonly link?: string;
}

/** Replaces responses of the vault by what `lie` returns; undefined keeps the true one. */
function lyingFetch(lie: (asked: string, body: Body) => Lie | undefined): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const text = await response.text();
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const asked = `${init?.method} ${pathname}`;
    const told = lie(asked, text === '' ? {} : (JSON.parse(text) as Body));
    const { status = response.status, body, link } = told ?? {};
    const headers = new Headers(response.headers);
    if (link !== undefined) headers.set('link', link);
    return new Response(told === undefined ? text : JSON.stringify(body), { status, headers });
  };
}

test('malformed versions and cursors are refused and never stored', async (t) => {
  const lies: [RegExp, Body][] = [
    [/^GET \/v1\/sync$/, { nextCursor: 'x' }],
    [/^GET \/v1\/sync$/, { nextCursor: '-1' }],
    [/^GET \/v1\/sync\/[^/]+$/, { version: -1 }],
    [/^GET \/v1\/sync\/[^/]+$/, { version: 0 }],
    [/^POST \/v1\/sync$/, { version: -1 }],
    [/^POST \/v1\/sync$/, { version: 2 ** 40 }],
  ];
  const user = createUser();
  const other = await openDevice(t.context.vault, user);
  const id = await other.sync.create({ data: { a: 1, b: 1 } });
  await other.sync.sync();
  for (const [about, members] of lies) {
    let isLying = true;
    const lying = lyingFetch((asked, body) =>
      isLying && about.test(asked) ? { body: { ...body, ...members } } : undefined,
    );
    const store = createInMemoryStore();
    const { sync } = await openDevice(t.context.vault, user, { fetch: lying, store });
    isLying = about.source.includes('GET');
    if (!isLying) await sync.sync();
    if (!isLying) await set(sync, id, { a: JSON.stringify(members) });
    isLying = true;
    await t.throwsAsync(sync.sync(), { code: 'invalid_response' }, JSON.stringify(members));
    isLying = false;
    await sync.sync();
    t.deepEqual(sync.pending(), []);
    t.like(await sync.get(id), { data: { b: 1 } });
  }
});

test('a cursor that never advances ends the synchronisation, and a later one works', async (t) => {
  const user = createUser();
  const other = await openDevice(t.context.vault, user);
  const id = await other.sync.create({ data: { a: 1 } });
  await other.sync.sync();
  const circles = [
    { circle: ['1'], code: 'invalid_response' },
    { circle: ['3', '2', '3', '2'], code: 'rolled_back' },
    { circle: ['1', '0'], code: 'rolled_back' },
  ];
  for (const { circle, code } of circles) {
    let lists = 0;
    let isLying = true;
    const lying = lyingFetch((asked, body) => {
      if (!isLying || asked !== 'GET /v1/sync') return undefined;
      lists += 1;
      // A client that asks this often would ask for ever.
      if (lists > 20) throw new Error('asked again and again');
      const objects = [{ objectId: id, version: 1, lastModifiedAt: new Date(0).toISOString() }];
      return { body: { ...body, objects, nextCursor: circle[(lists - 1) % circle.length] } };
    });
    const { sync } = await openDevice(t.context.vault, user, { fetch: lying });
    await t.throwsAsync(sync.sync(), { code }, circle.join());
    isLying = false;
    await sync.sync({ acceptRestored: true });
    t.deepEqual(await dataOf(sync, id), { a: 1 });
  }
});

test('a history whose pages form a cycle ends', async (t) => {
  let pages = 0;
  const lying = lyingFetch((asked, body) => {
    if (!asked.endsWith('/history')) return undefined;
    pages += 1;
    if (pages > 20) throw new Error('asked again and again');
    return { body, link: `</?cursor=${pages % 2 === 0 ? id : other}>; rel="next"` };
  });
  const { sync } = await openDevice(t.context.vault, createUser(), { fetch: lying });
  const id = await sync.create({ data: { a: 1 } });
  const other = await sync.create({ data: { a: 1 } });
  await sync.sync();
  await t.throwsAsync(gather(sync.history(id)), { code: 'invalid_response' });
});

test('a new object that the vault calls deleted stays and is sent again', async (t) => {
  let isLying = true;
  const lying = lyingFetch((asked, body) => {
    if (!isLying || asked !== 'POST /v1/sync/create') return undefined;
    const conflict = { status: 'CONFLICT', conflictType: 'DELETED_ON_SERVER', serverVersion: 2 };
    const error = { statusCode: 409, message: 'a conflict', code: 'sync_conflict' };
    return { status: 409, body: { ...body, ...error, ...conflict, fields: [], serverData: null } };
  });
  const { sync } = await openDevice(t.context.vault, createUser(), { fetch: lying });
  const id = await sync.create({ data: { a: 1 } });
  await t.throwsAsync(sync.sync(), { code: 'invalid_response' });
  t.deepEqual(await dataOf(sync, id), { a: 1 });
  isLying = false;
  t.like(await sync.sync(), { sent: 1 });
  t.deepEqual(await dataOf(sync, id), { a: 1 });
});

/** Replaces the Date header of responses to writes as long as `isLying` returns true. */
function misdatedFetch(date: string, isLying = () => true) {
  const counted = { writes: 0 };
  const misdated: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const headers = new Headers(response.headers);
    headers.delete('date');
    if (init?.method === 'POST') counted.writes += 1;
    if (init?.method === 'POST' && isLying()) headers.set('date', date);
    return new Response(await response.text(), { status: response.status, headers });
  };
  return { misdated, counted };
}

test('an implausible Date header is ignored and delays no write', async (t) => {
  for (const date of ['Sat, 13 Sep 275760 00:00:00 GMT', 'Sat, 01 Jan 12000 00:00:00 GMT', '-1']) {
    const { misdated } = misdatedFetch(date);
    const { sync } = await openDevice(t.context.vault, createUser(), { fetch: misdated });
    const id = await sync.create({ data: { a: 1 } });
    await sync.sync();
    await set(sync, id, { a: 2 });
    t.like(await sync.sync(), { sent: 1 }, date);
  }
});

test('after the clock of the vault is corrected, later writes are sent once', async (t) => {
  let isLying = true;
  const { misdated, counted } = misdatedFetch('Fri, 01 Jan 2100 00:00:00 GMT', () => isLying);
  const { sync } = await openDevice(t.context.vault, createUser(), { fetch: misdated });
  const id = await sync.create({ data: { a: 1 } });
  await sync.sync();
  isLying = false;
  await set(sync, id, { a: 2 });
  t.like(await sync.sync(), { sent: 1 });
  await set(sync, id, { a: 3 });
  counted.writes = 0;
  t.like(await sync.sync(), { sent: 1 });
  t.is(counted.writes, 1);
});

test('a write that fails at the vault or a proxy delays only its own object', async (t) => {
  const lies: [Lie, string][] = [
    [{ status: 500, body: { code: 'internal_error', message: 'A fault.' } }, 'internal_error'],
    [{ status: 403, body: {} }, 'http_403'],
    [{ body: {} }, 'invalid_response'],
  ];
  for (const [lie, code] of lies) {
    let left = 0;
    const lying = lyingFetch((asked) => (asked.startsWith('POST') && left-- > 0 ? lie : undefined));
    const { sync } = await openDevice(t.context.vault, createUser(), { fetch: lying });
    for (let n = 0; n < 9; n += 1) await sync.create({ data: { n } });
    left = 1;
    await t.throwsAsync(sync.sync(), { code });
    t.is(sync.pending().length, 1, code);
    t.like(await sync.sync(), { sent: 1 });
    t.deepEqual(sync.pending(), []);
  }
});
