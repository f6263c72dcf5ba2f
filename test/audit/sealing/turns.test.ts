import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import * as fc from 'fast-check';
import { sql as kyselySql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { createQueueCursor } from '../../../app/audit/sealing/queue-cursor.ts';
import { createSealerStore, type Claim } from '../../../app/audit/sealing/sealer-store.ts';
import { createTurns } from '../../../app/audit/sealing/turns.ts';
import { ofQueue, openDatabase, type Database, type Tx } from '../../../app/db/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { insertEntries, pretendSealed } from '../../support/audit/unsealed.ts';
import { countKeys } from './queue-reads.ts';
import { appending } from '../../support/audit/log-rows.ts';

// The tests are serial: a claim leases the entries of the whole table.
const test = anyTest.serial as TestFn<{
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly db: Database;
}>;

test.before(async (t) => {
  // Without a signer the vault's own sealer claims nothing.
  const vault = await startVault({ SIGNER_SOCKET_PATH: '/nowhere/signer.sock' });
  t.context = { vault, sql: createSql(vault), db: await openDatabase(vault.config.database) };
});
test.beforeEach((t) => t.context.sql('truncate audit_log, audit_queue, audit_seals'));
test.after.always(async (t) => {
  await t.context.db.close();
  await t.context.vault.stop();
});

const idsOf = ({ entries }: Claim) => entries.map(({ id }) => id);

const storeOf = (db: Database) => createSealerStore(db, createQueueCursor());

test('the entries of an owner are claimed at once, however many others have', async (t) => {
  const { sql, db } = t.context;
  const deep = await insertEntries(sql, 3_000);
  const late = await insertEntries(sql, 3);
  const claimed = new Set(idsOf(await storeOf(db).claim(256)));
  t.is(claimed.size, 256);
  t.true(late.every((id) => claimed.has(id)));
  t.true(
    deep.slice(0, 253).every((id) => claimed.has(id)),
    'the rest are the oldest entries',
  );
});

test('if a batch has no place for every owner, the next one continues', async (t) => {
  const { sql, db } = t.context;
  const owners = Array.from({ length: 10 }, () => uuidv7());
  const ownerOf = new Map<string, string>();
  for (const owner of owners) {
    for (const id of await insertEntries(sql, 5, owner)) ownerOf.set(id, owner);
  }
  const store = storeOf(db);
  const turns: (string | undefined)[] = [];
  for (let batch = 0; batch < 5; batch += 1) {
    const claimed = await store.claim(4);
    turns.push(...idsOf(claimed).map((id) => ownerOf.get(id)));
  }
  t.is(new Set(turns.slice(0, 12)).size, 10, 'three batches of four take all ten owners');
  for (const owner of owners) t.is(turns.filter((each) => each === owner).length, 2);
});

test('resources that belong to no user have their turn too', async (t) => {
  const { sql, db } = t.context;
  await insertEntries(sql, 300);
  const [id] = await insertEntries(sql, 1, '00000000-0000-0000-0000-000000000000');
  t.true(idsOf(await storeOf(db).claim(256)).includes(id ?? ''));
});

test('an entry that is leased, or waits after a failure, costs its owner no turn', async (t) => {
  const { sql, db } = t.context;
  const owner = randomUUID();
  const ids = await insertEntries(sql, 20, owner);
  await sql(
    `update audit_queue set claimed_until = now() + interval '1 hour' where entry_id = any($1)`,
    [ids.slice(0, 15)],
  );
  const claimed = idsOf(await storeOf(db).claim(10));
  t.deepEqual(claimed.toSorted(), ids.slice(15));
});

test('an entry whose trail was removed has its turn, without a resource', async (t) => {
  const { sql, db } = t.context;
  const ids = await insertEntries(sql, 2);
  await sql('delete from audit_trails where resource_id = $1', [ids[0]]);
  const { entries } = await storeOf(db).claim(10);
  t.deepEqual(
    entries.map(({ id, resourceId }) => [id, resourceId]),
    [
      [ids[0], null],
      [ids[1], ids[1]],
    ],
  );
});

test('a batch is full while entries wait, and shares of it are fair', async (t) => {
  const { sql, db } = t.context;
  const depths = fc.array(
    fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ max: 60, min: 1 })),
    {
      minLength: 1,
      maxLength: 12,
    },
  );
  const holds = fc.asyncProperty(depths, fc.integer({ min: 1, max: 64 }), async (counts, limit) => {
    await sql('truncate audit_log, audit_queue');
    const entries = [];
    for (const count of counts) entries.push(await insertEntries(sql, count));
    const claimed = new Set(idsOf(await storeOf(db).claim(limit)));
    const total = counts.reduce((sum, count) => sum + count, 0);
    t.is(claimed.size, Math.min(limit, total));
    const share = Math.floor(limit / counts.length);
    for (const ids of entries) {
      const taken = ids.filter((id) => claimed.has(id)).length;
      t.true(taken >= Math.min(share, ids.length), `${taken} of ${ids.length}`);
      t.true(
        ids.slice(0, taken).every((id) => claimed.has(id)),
        'the oldest come first',
      );
    }
  });
  await fc.assert(holds, { numRuns: 25 });
});

test('concurrent claims lease no entry twice', async (t) => {
  const { sql, db } = t.context;
  for (let owner = 0; owner < 5; owner += 1) await insertEntries(sql, 100);
  const stores = [storeOf(db), storeOf(db), storeOf(db)];
  const batches = await Promise.all(
    stores.flatMap((store) => Array.from({ length: 4 }, () => store.claim(64))),
  );
  const ids = batches.flatMap(idsOf);
  t.is(new Set(ids).size, ids.length);
  const claims = await sql(
    'select claim_id, count(*)::int from audit_queue where claim_id is not null group by 1',
  );
  const leased = claims.reduce((sum, { count }) => sum + Number(count), 0);
  t.is(leased, ids.length);
});

/** Counts what this connection has read of the table: scans of all of it, and rows by indexes. */
async function countReads(tx: Tx) {
  const { rows } = await kyselySql<{ readonly scans: number; readonly rows: number }>`
    select seq_scan as scans, idx_tup_fetch as rows from pg_stat_xact_user_tables
    where relname = 'audit_queue'`.execute(tx);
  return rows[0] ?? { scans: 0, rows: 0 };
}

test('a claim reads little more than it leases, however many entries there are', async (t) => {
  const { sql, db } = t.context;
  const [deep, other] = [randomUUID(), randomUUID()];
  const sealed = await sql(
    `${appending(`
     select uuidv7(), ($2::uuid[])[n % 2 + 1], 'default', 'upload', n::text, 1, 'upload.created',
       '{}'
     from generate_series(1, $1::int) n`)} returning id`,
    [40_000, [deep, other]],
  );
  await pretendSealed(
    sql,
    sealed.map(({ id }) => id),
  );
  await insertEntries(sql, 20_000, deep);
  await insertEntries(sql, 5, other);
  await sql('analyze audit_queue');
  const claim = createTurns(createQueueCursor());
  for (let round = 0; round < 6; round += 1) {
    const read = await db.asService(async (tx) => {
      const before = await countReads(tx);
      const { leased } = await claim(tx, randomUUID(), 256);
      t.is((await leased).length, 256);
      const after = await countReads(tx);
      return { scans: after.scans - before.scans, rows: after.rows - before.rows };
    });
    t.is(read.scans, 0);
    // A later round also passes the entries that the earlier rounds have leased.
    t.true(read.rows < (round + 1) * 3 * 256 + 100, String(read.rows));
  }
});

test('under an old snapshot, a claim reads none of the rows that were removed', async (t) => {
  const { vault, sql, db } = t.context;
  const readsOf = (claim: ReturnType<typeof createTurns>) =>
    db.asService(async (tx) => {
      const { scans } = await countReads(tx);
      const before = await countKeys(tx);
      t.deepEqual(await claim(tx, randomUUID(), 256), { leased: [] });
      t.is((await countReads(tx)).scans, scans, 'no reading of the whole table');
      return (await countKeys(tx)) - before;
    }, ofQueue);
  // The plans that a connection keeps are made for a queue of one page.
  const few = await insertEntries(sql, 10);
  await sql('analyze audit_queue');
  const early = createTurns(createQueueCursor());
  for (let times = 0; times < 10; times += 1) {
    await db.asService((tx) => early(tx, randomUUID(), 256), ofQueue);
  }
  await pretendSealed(sql, few);
  const dump = await connectAs(vault.databases.admin);
  t.teardown(() => dump.end());
  await dump.query('begin isolation level repeatable read');
  await dump.query('select from audit_log limit 1');
  const sealed = await insertEntries(sql, 20_000);
  await pretendSealed(sql, sealed);
  const claim = createTurns(createQueueCursor());
  t.true((await readsOf(claim)) >= 20_000, 'the snapshot keeps the removed rows');
  // A transaction of another test may be under way, from which each claim begins.
  const isShort = async () => (await readsOf(claim)) < 10;
  await until(isShort, { what: 'a claim that reads little', timeoutMs: 30_000 });
  await dump.query('rollback');
});

test('an entry is found however long its transaction takes', async (t) => {
  const { vault, sql, db } = t.context;
  const store = storeOf(db);
  const claimed = async () => idsOf(await store.claim(256));
  const slow = await connectAs(vault.databases.admin);
  t.teardown(() => slow.end());
  await slow.query('begin');
  const query: Sql = async (text, values) => (await slow.query(text, [...(values ?? [])])).rows;
  const late = await insertEntries(query, 1);
  for (let round = 0; round < 3; round += 1) {
    const early = await insertEntries(sql, 2);
    t.deepEqual(await claimed(), early);
    await pretendSealed(sql, early);
    t.deepEqual(await claimed(), []);
  }
  await slow.query('commit');
  t.deepEqual(await claimed(), late);
});

test('an entry that waits is found again when its lease has ended', async (t) => {
  const { sql, db } = t.context;
  const store = storeOf(db);
  const [first, ...others] = await insertEntries(sql, 5);
  t.is((await store.claim(256)).entries.length, 5);
  await pretendSealed(sql, others);
  t.true(await store.hasWaiting());
  t.deepEqual(idsOf(await store.claim(256)), []);
  await sql('update audit_queue set claimed_until = now()');
  t.deepEqual(idsOf(await store.claim(256)), [first]);
  await pretendSealed(sql, [first ?? '']);
  t.false(await store.hasWaiting());
});
