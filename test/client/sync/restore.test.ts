import anyTest, { type TestFn } from 'ava';
import { createHttp } from '../../../client/http/http.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { createSessionHttp } from '../../../client/sessions/session-http.ts';
import { hasGoneBack } from '../../../client/sync/exchange/cursor.ts';
import { syncEvents } from '../../../client/sync/exchange/events.ts';
import { backUpObjects, tellRestored } from '../../sync/restored.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { dataOf, set, shareObject, type TestDevice } from './devices.ts';

/** The tests are serial, because each begins an epoch of the vault that all share. */
const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

test.serial('a device ahead of a restored vault converges and sends its changes', async (t) => {
  const { vault, sql } = t.context;
  const { one, two, id } = await shareObject(vault, { a: 1, b: 1 });
  const quiet = await one.sync.create({ data: { c: 1 } });
  await one.sync.sync();
  await two.sync.sync();
  const restore = await backUpObjects(sql, one.raw.api.caller.userId);
  await set(two.sync, id, { a: 'lost' });
  await set(two.sync, quiet, { c: 'lost' });
  await two.sync.sync();
  const orphan = await two.sync.create({ data: { d: 'lost' } });
  await two.sync.sync();
  await two.sync.sync();
  await set(two.sync, id, { b: 'unsent' });
  const fresh = await two.sync.create({ data: { e: 'unsent' } });

  await restore();
  await tellRestored(vault);
  const others: string[] = [];
  await one.sync.sync({ acceptRestored: true });
  for (let n = 0; n < 3; n += 1) {
    await set(one.sync, id, { a: `one ${n}` });
    others.push(await one.sync.create({ data: { n } }));
    await one.sync.sync();
  }
  await t.throwsAsync(two.sync.sync(), { code: 'rolled_back' });
  t.is(two.sync.pending().length, 2, 'nothing is sent before the user accepts the restore');
  t.like(await two.sync.sync({ acceptRestored: true }), { restored: 2, sent: 2 });
  t.deepEqual(two.sync.pending(), []);
  await one.sync.sync();
  for (const { sync } of [one, two]) {
    t.deepEqual(await dataOf(sync, id), { a: 'one 2', b: 'unsent' });
    t.deepEqual(await dataOf(sync, quiet), { c: 1 });
    t.deepEqual(await dataOf(sync, fresh), { e: 'unsent' });
    for (const [n, other] of others.entries()) t.deepEqual(await dataOf(sync, other), { n });
  }
  t.deepEqual(await dataOf(two.sync, orphan), { d: 'lost' }, 'the lost object stays on its device');
  t.is(await dataOf(one.sync, orphan), undefined);
  t.like(await two.sync.sync(), { restored: 0, received: 0, sent: 0 });
});

test.serial(
  'a device that read all of a restored vault continues with new changes only',
  async (t) => {
    const { vault } = t.context;
    const asked: string[] = [];
    const counting: typeof fetch = (input, init) => {
      asked.push(new URL(input instanceof Request ? input.url : input).search);
      return fetch(input, init);
    };
    const { one, two, id } = await shareObject(vault, { a: 1 }, { fetch: counting });
    const epoch = await tellRestored(vault);
    await t.throwsAsync(two.sync.sync(), { code: 'rolled_back' });
    const accepted = await Promise.all(
      [one, two].map(({ sync }) => sync.sync({ acceptRestored: true })),
    );
    t.like(accepted[1], { restored: 0, received: 0 });
    await set(one.sync, id, { a: 2 });
    await one.sync.sync();
    asked.length = 0;
    t.like(await two.sync.sync(), { restored: 0, received: 1 });
    t.deepEqual(asked, [`?since=${epoch}.1`, '', `?since=${epoch}.2`]);
    t.deepEqual(await dataOf(two.sync, id), { a: 2 });
  },
);

function eventsOf({ baseUrl }: TestVault, { raw }: TestDevice, since: string, signal: AbortSignal) {
  const tokens = { current: async () => raw.api.token, renew: async () => raw.api.token, end() {} };
  const retry = defaultRetry;
  const inner = createHttp({ baseUrl, fetch, retry, now: () => new Date() });
  const http = createSessionHttp({ http: inner, tokens });
  return syncEvents({ http, retry }, { deviceId: raw.deviceId, since, signal });
}

test.serial('a feed announces a restore by a new cursor, then sends all changes', async (t) => {
  const { vault } = t.context;
  const { two, id } = await shareObject(vault, { a: 1 });
  const since = String((await two.raw.get('/v1/sync')).body['nextCursor']);
  const epoch = await tellRestored(vault);
  const leaving = new AbortController();
  const cursors: string[] = [];
  for await (const event of eventsOf(vault, two, since, leaving.signal)) {
    cursors.push(event.cursor);
    if (event.type !== 'change') continue;
    t.is(event.objectId, id);
    break;
  }
  t.deepEqual(cursors, [`${epoch}.0`, `${epoch}.1`]);
});

test('a cursor of another epoch or a lower one means that the vault was restored', (t) => {
  const [one, other] = ['0123456789abcdef', 'fedcba9876543210'];
  const back = [
    ['4', '5'],
    ['0', '5'],
    [`${one}.9`, '5'],
    [`${one}.5`, `${other}.5`],
    [`${one}.4`, `${one}.5`],
    ['9', `${one}.5`],
  ] as const;
  for (const [cursor, known] of back) t.true(hasGoneBack(cursor, known), `${cursor} ${known}`);
  const onward = [
    ['5', '5'],
    ['10', '9'],
    ['0', '0'],
    [`${one}.5`, `${one}.5`],
    [`${one}.10`, `${one}.9`],
    [`${one}.0`, '0'],
  ] as const;
  for (const [cursor, known] of onward) t.false(hasGoneBack(cursor, known), `${cursor} ${known}`);
});
