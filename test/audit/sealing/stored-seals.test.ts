import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { createQueueCursor } from '../../../app/audit/sealing/queue-cursor.ts';
import { createSealerStore, type SealerStore } from '../../../app/audit/sealing/sealer-store.ts';
import { ofQueue, openDatabase, type Database } from '../../../app/db/database.ts';
import { insertEntries } from '../../support/audit/unsealed.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import { countKeys } from './queue-reads.ts';

interface Context {
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly db: Database;
  readonly store: SealerStore;
  /** The id of a key; tests change its state. */
  readonly keyId: string;
}

// The tests are serial: a claim leases the entries of the whole table.
const test = anyTest.serial as TestFn<Context>;

test.before(async (t) => {
  // Without a signer the vault's own sealer claims nothing.
  const vault = await startVault({ SIGNER_SOCKET_PATH: '/nowhere/signer.sock' });
  const db = await openDatabase(vault.config.database);
  const keyId = randomBytes(16).toString('hex');
  t.context = {
    vault,
    sql: createSql(vault),
    db,
    store: createSealerStore(db, createQueueCursor()),
    keyId,
  };
});
test.beforeEach(async ({ context: { sql, keyId } }) => {
  await sql('truncate audit_log, audit_queue, audit_seals, audit_dead_letters, signing_keys');
  await sql(
    `insert into signing_keys (key_id, purpose, algorithm, public_key, generation, state,
       activated_at) values ($1, 'audit', 'ES256', '', 1, 'ACTIVE', now())`,
    [keyId],
  );
});
test.after.always(async ({ context: { db, vault } }) => {
  await db.close();
  await vault.stop();
});

const signed = (keyId: string, ids: readonly string[]) => ({
  keyId,
  seals: ids.map((id) => ({
    id,
    keyId,
    hash: randomBytes(32).toString('hex'),
    signature: randomBytes(64).toString('base64'),
    sealedAt: new Date().toISOString(),
    late: false,
  })),
});

/** Reads which entries are sealed, which wait, and what is counted as sealed. */
async function readState(sql: Sql) {
  const [row] = await sql(`select
    array(select entry_id from audit_seals order by entry_id) as sealed,
    array(select entry_id from audit_queue order by entry_id) as waiting,
    (select sum(sealed) from audit_totals)::int as total`);
  return row as { sealed: string[]; waiting: string[]; total: number };
}

test('the holder of a lease stores seals, counts them and ends the wait', async (t) => {
  const { sql, store, keyId } = t.context;
  const ids = await insertEntries(sql, 3);
  const [first = '', second = '', third = ''] = ids;
  const claim = await store.claim(2);
  const { total } = await readState(sql);
  t.true(await store.storeSeals(claim, signed(keyId, [first, third])));
  t.deepEqual(await readState(sql), {
    sealed: [first],
    waiting: [second, third],
    total: total + 1,
  });

  const other = { ...claim, id: randomUUID() };
  t.true(await store.storeSeals(other, signed(keyId, [second])), 'another claim');
  t.true(await store.storeSeals(claim, signed(keyId, [])));
  t.deepEqual(await readState(sql), {
    sealed: [first],
    waiting: [second, third],
    total: total + 1,
  });
});

test('an entry stays in the queue whose row is found at the place of another one', async (t) => {
  const { sql, store, keyId } = t.context;
  const [first = '', second = ''] = await insertEntries(sql, 2);
  const { id, entries } = await store.claim(10);
  // So it is for a batch that has leased rows which `vacuum full` moves.
  const places = entries.map(({ place }) => place).toReversed();
  const moved = entries.map((entry, index) => Object.assign({}, entry, { place: places[index] }));
  t.true(await store.storeSeals({ id, entries: moved }, signed(keyId, [first])));
  t.like(await readState(sql), { sealed: [], waiting: [first, second] });
});

test('only the holder of a lease releases it, or counts a failed attempt', async (t) => {
  const { sql, store } = t.context;
  const [first = '', second = '', third = ''] = await insertEntries(sql, 3);
  const claim = await store.claim(10);
  const other = { ...claim, id: randomUUID() };
  const fault = (id: string) => ({ id, reason: 'invalid_entry' });
  const readLeases = async () => {
    const rows = await sql('select claim_id, attempts from audit_queue order by entry_id');
    return rows.map(({ claim_id: id, attempts }) => [id, attempts]);
  };
  await store.release(other);
  await store.stepAside(other);
  await store.recordFault(other, fault(first));
  t.deepEqual(
    await readLeases(),
    Array.from({ length: 3 }, () => [claim.id, 0]),
  );

  await store.recordFault(claim, fault(first));
  t.deepEqual(await readLeases(), [
    [null, 1],
    [claim.id, 0],
    [claim.id, 0],
  ]);
  await store.recordFault(claim, { id: second, reason: 'row_mismatch' });
  t.deepEqual((await readState(sql)).waiting, [first, third], 'a dead letter');
  t.deepEqual(await sql('select entry_id, attempts from audit_dead_letters'), [
    { entry_id: second, attempts: 1 },
  ]);
  await store.stepAside(claim);
  t.deepEqual(await readLeases(), [
    [null, 1],
    [null, 0],
  ]);
  t.deepEqual((await store.claim(10)).entries, [], 'both wait');
});

test('a lease ends without a search for its entries', async (t) => {
  const { sql, db, store, keyId } = t.context;
  // Postgres takes the queue to be empty, so that each of its indexes looks good.
  await sql('analyze audit_queue');
  const ids = await insertEntries(sql, 300);
  const claim = await store.claim(200);
  const sealed = claim.entries.slice(0, 100).map(({ id }) => id);
  /** Counts what a transaction of the store reads by the indexes of the queue. */
  const keysOf = (work: (inTx: SealerStore) => Promise<unknown>) =>
    db.asService(async (tx) => {
      const before = await countKeys(tx);
      const asService: Database['asService'] = (inner) => inner(tx);
      await work(createSealerStore({ ...db, asService }, createQueueCursor()));
      return (await countKeys(tx)) - before;
    }, ofQueue);
  t.is(await keysOf((inTx) => inTx.storeSeals(claim, signed(keyId, sealed))), 0);
  t.is(await keysOf((inTx) => inTx.release(claim)), 0);
  t.is((await sql('select from audit_queue')).length, ids.length - 100);
  t.is((await sql('select from audit_queue where claim_id is not null')).length, 0);
});

test('a key that is no longer active seals nothing, and loses no lease', async (t) => {
  const { sql, store, keyId } = t.context;
  const ids = await insertEntries(sql, 2);
  const claim = await store.claim(10);
  await sql(`update signing_keys set state = 'RETIRED', retired_at = now()`);
  const before = await readState(sql);
  t.false(await store.storeSeals(claim, signed(keyId, ids)));
  t.false(await store.storeSeals(claim, signed('0'.repeat(32), ids)), 'an unknown key');
  t.deepEqual(await readState(sql), before);
  const leases = await sql('select claim_id from audit_queue');
  t.deepEqual(leases, [{ claim_id: claim.id }, { claim_id: claim.id }]);
});

test('a key that is being retired seals nothing', async (t) => {
  const { vault, sql, store, keyId } = t.context;
  const ids = await insertEntries(sql, 1);
  const claim = await store.claim(10);
  const retiring = await connectAs(vault.databases.admin);
  t.teardown(() => retiring.end());
  await retiring.query('begin');
  await retiring.query(`update signing_keys set state = 'RETIRED', retired_at = now()`);
  const stored = store.storeSeals(claim, signed(keyId, ids));
  t.is(await Promise.race([stored, pause(500, 'waits')]), 'waits');
  await retiring.query('commit');
  t.false(await stored);
  t.deepEqual((await readState(sql)).waiting, ids);
});
