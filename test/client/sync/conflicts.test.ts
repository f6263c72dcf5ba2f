import anyTest, { type TestFn } from 'ava';
import type { Conflict, Resolution } from '../../../client/sync/objects/resolver.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import type { TestVault } from '../../support/vault/vault.ts';
import { dataOf, set, shareObject, startRulesVault } from './devices.ts';

const test = anyTest as TestFn<{ vault: TestVault; sql: Sql }>;

test.before(async (t) => {
  const vault = await startRulesVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

test('a conflict is resolved by the application, in plaintext', async (t) => {
  const asked: Conflict[] = [];
  const resolve = (conflict: Conflict) => {
    asked.push(conflict);
    if (conflict.pointer === '/a') return 'theirs';
    return conflict.pointer === '/b' ? 'mine' : { value: 'both' };
  };
  const first = { a: { x: 1 }, b: 1, c: 1, d: 1, same: 1 };
  const { one, two, id } = await shareObject(t.context.vault, first, { resolve });
  await one.sync.change(id, () => ({ a: 'one', b: 'one', c: 'one', d: 1, same: 2, e: 'one' }));
  await one.sync.sync();
  await two.sync.change(id, () => ({ a: { x: 2 }, b: 'two', c: 'two', d: 'two', same: 2 }));
  t.like(await two.sync.sync(), { sent: 1, conflicts: 1 });
  t.deepEqual(
    asked.map(({ pointer, base, mine, theirs }) => [pointer, base, mine, theirs]),
    [
      ['/a', { x: 1 }, { x: 2 }, 'one'],
      ['/b', 1, 'two', 'one'],
      ['/c', 1, 'two', 'one'],
    ],
  );
  const merged = { a: 'one', b: 'two', c: 'both', d: 'two', same: 2, e: 'one' };
  await one.sync.sync();
  for (const { sync } of [one, two]) t.deepEqual(await dataOf(sync, id), merged);
});

test('without a resolver a change beats a removal, and a later change an earlier', async (t) => {
  const { one, two, id } = await shareObject(t.context.vault, { a: 1, b: 1, c: 1 });
  await one.sync.change(id, () => ({ a: 'one', b: 'one' }));
  await one.sync.sync();
  await two.sync.change(id, () => ({ a: 'two', c: 'two' }));
  await two.sync.sync();
  t.deepEqual(await dataOf(two.sync, id), { a: 'two', b: 'one', c: 'two' });
  await two.sync.remove(id);
  await set(one.sync, id, { d: 1 });
  await one.sync.sync();
  await two.sync.sync();
  t.deepEqual(await dataOf(two.sync, id), { a: 'two', b: 'one', c: 'two', d: 1 });
});

test('rules of the vault settle their fields although the client saw the other', async (t) => {
  const resolve = (): never => t.fail();
  const first = { title: 'a', tags: ['a'], count: 1, body: 'a' };
  const { one, two, id } = await shareObject(t.context.vault, first, { resolve }, 'note');
  await set(two.sync, id, { title: 'two', tags: ['a', 'two'], count: 5, body: 'two' });
  await set(one.sync, id, { title: 'one', tags: ['one'], count: 3 });
  await one.sync.sync();
  t.like(await two.sync.sync(), { received: 1, sent: 1, conflicts: 0 });
  await one.sync.sync();
  for (const { sync } of [one, two]) {
    const merged = { title: 'one', tags: ['a', 'one', 'two'], count: 5, body: 'two' };
    t.deepEqual(await dataOf(sync, id), merged);
  }
});

test('a field that a rule settles is not passed to the resolver', async (t) => {
  const asked: string[] = [];
  const resolve = ({ pointer }: Conflict) => {
    asked.push(pointer);
    return 'mine' as const;
  };
  const { one, two, id } = await shareObject(
    t.context.vault,
    { title: 'a', body: 'a' },
    { resolve },
    'note',
  );
  await set(two.sync, id, { title: 'two', body: 'two' });
  await set(one.sync, id, { title: 'one, later', body: 'one' });
  await one.sync.sync();
  await two.sync.sync();
  t.deepEqual(asked, ['/body']);
  t.deepEqual(await dataOf(two.sync, id), { title: 'one, later', body: 'two' });
});

test('changes of a deleted object are kept, dropped or sent as a new object', async (t) => {
  const { vault } = t.context;
  let choice: 'keep' | 'drop' | 'recreate' = 'keep';
  const options = { resolveDeletion: () => choice };
  const { one, two, id } = await shareObject(vault, { a: 1, b: 1 }, options, 'note');
  await set(two.sync, id, { a: 2 });
  await one.sync.remove(id);
  await one.sync.sync();
  await two.sync.sync();
  t.like(two.sync.pending(), [{ objectId: id, refusal: { code: 'deleted_on_server' } }]);
  t.deepEqual(two.sync.list(), []);
  choice = 'recreate';
  await two.sync.retry(id);
  await two.sync.sync();
  const [anew = t.fail()] = two.sync.list();
  t.not(anew, id);
  t.like(await two.sync.get(anew), { objectType: 'note', data: { a: 2, b: 1 } });
  await two.sync.sync();
  await one.sync.sync();
  choice = 'drop';
  await set(two.sync, anew, { a: 3 });
  await one.sync.remove(anew);
  await one.sync.sync();
  await two.sync.sync();
  t.deepEqual([two.sync.list(), two.sync.pending()], [[], []]);
});

test('after a restore unsent changes are applied to the state of the vault', async (t) => {
  const { vault, sql } = t.context;
  for (const hasRead of [false, true]) {
    const { two, id } = await shareObject(vault, { a: 1, b: 1 });
    const old = (await two.raw.get(`/v1/sync/${id}`)).body['data'];
    await set(two.sync, id, { a: 2 });
    await two.sync.sync();
    // A client that read its own change learns of the restore only from the response to a write.
    if (hasRead) await two.sync.sync();
    await sql('delete from sync_history where object_id = $1 and version > 1', [id]);
    await sql('update sync_objects set version = 1, data = $2 where object_id = $1', [
      id,
      JSON.stringify(old),
    ]);
    await set(two.sync, id, { b: 2 });
    await t.throwsAsync(two.sync.sync(), { code: 'rolled_back' });
    t.deepEqual(await dataOf(two.sync, id), { a: 2, b: 2 });
    t.like(await two.sync.sync({ acceptRestored: true }), { restored: 1, sent: 1, conflicts: 0 });
    t.deepEqual(await dataOf(two.sync, id), { a: 1, b: 2 });
    t.like(await two.sync.sync(), { received: 0, sent: 0 });
  }
});

test('after a restore later writes are read, even if their versions are known', async (t) => {
  const { vault, sql } = t.context;
  const { one, two, id } = await shareObject(vault, { a: 1 });
  const quiet = await one.sync.create({ data: { b: 1 } });
  await one.sync.sync();
  await two.sync.sync();
  const { userId } = one.raw.api.caller;
  const backup = await sql('select * from sync_objects where user_id = $1', [userId]);
  const [counter] = await sql('select last_change from sync_counters where user_id = $1', [userId]);
  await set(two.sync, id, { a: 'lost' });
  await set(two.sync, quiet, { b: 'lost' });
  await two.sync.sync();
  await two.sync.sync();

  for (const row of backup) {
    await sql(
      'update sync_objects set version = $2, data = $3, change_seq = $4 where object_id = $1',
      ['object_id', 'version', 'data', 'change_seq'].map((name) => row[name]),
    );
  }
  await sql('delete from sync_history where user_id = $1 and version > 1', [userId]);
  await sql('update sync_counters set last_change = $2 where user_id = $1', [
    userId,
    counter?.['last_change'],
  ]);
  await set(one.sync, id, { a: 'one' });
  await one.sync.sync();
  await t.throwsAsync(two.sync.sync(), { code: 'rolled_back' });
  t.like(await two.sync.sync({ acceptRestored: true }), { restored: 2 });
  t.deepEqual(await dataOf(two.sync, id), { a: 'one' });
  t.deepEqual(await dataOf(two.sync, quiet), { b: 1 });
  t.like(await two.sync.sync(), { restored: 0, received: 0 });
});

test('an object whose conflict cannot be resolved delays no other and is retried', async (t) => {
  let isBroken = true;
  const resolve = () => {
    if (isBroken) throw new Error('the application is broken');
    return 'mine' as const;
  };
  const { one, two, id } = await shareObject(t.context.vault, { a: 1 }, { resolve });
  await set(one.sync, id, { a: 'one' });
  await one.sync.sync();
  await set(two.sync, id, { a: 'two' });
  const others: string[] = [];
  for (let n = 0; n < 9; n += 1) others.push(await two.sync.create({ data: { n } }));
  await t.throwsAsync(two.sync.sync(), { message: 'the application is broken' });
  t.deepEqual(
    two.sync.pending().map(({ objectId }) => objectId),
    [id],
  );
  isBroken = false;
  t.like(await two.sync.sync(), { sent: 1 });
  t.deepEqual(await dataOf(two.sync, id), { a: 'two' });
  t.like(await two.sync.get(others[8] ?? ''), { version: 1 });
});

test('a resolver may mutate the values that it gets', async (t) => {
  const resolve = ({ mine, theirs }: Conflict) => {
    (theirs as string[]).push(...(mine as string[]));
    return { value: theirs };
  };
  const { one, two, id } = await shareObject(t.context.vault, { a: [] }, { resolve });
  await set(one.sync, id, { a: ['one'] });
  await one.sync.sync();
  await set(two.sync, id, { a: ['two'] });
  await two.sync.sync();
  await one.sync.sync();
  for (const { sync } of [one, two]) t.deepEqual(await dataOf(sync, id), { a: ['one', 'two'] });
});

test('an invalid result of a resolver loses no data', async (t) => {
  for (const answer of ['Mine', 42, {}, [], null, undefined]) {
    const resolve = () => answer as Resolution;
    const resolveDeletion = () => answer as 'keep';
    const options = { resolve, resolveDeletion };
    const { one, two, id } = await shareObject(t.context.vault, { a: 1 }, options);
    await set(one.sync, id, { a: 'one' });
    await one.sync.sync();
    await set(two.sync, id, { a: 'two' });
    await t.throwsAsync(two.sync.sync(), { instanceOf: TypeError });
    t.deepEqual(await dataOf(two.sync, id), { a: 'two' });
    await one.sync.remove(id);
    await one.sync.sync();
    await t.throwsAsync(two.sync.sync(), { instanceOf: TypeError });
    t.deepEqual(two.sync.list(), []);
    t.like(two.sync.pending(), [{ objectId: id, kind: 'change' }]);
  }
});
