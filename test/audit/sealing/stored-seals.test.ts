import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { createSealerStore, type SealerStore } from '../../../app/audit/sealing/sealer-store.ts';
import { openDatabase, type Database } from '../../../app/db/database.ts';
import { insertEntries } from '../../support/audit/unsealed.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';

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
  t.context = { vault, sql: createSql(vault), db, store: createSealerStore(db), keyId };
});
test.beforeEach(async ({ context: { sql, keyId } }) => {
  await sql('truncate audit_log, audit_queue, audit_seals, signing_keys');
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

const sealOf = (keyId: string) => (id: string) => ({
  id,
  keyId,
  hash: randomBytes(32).toString('hex'),
  signature: randomBytes(64).toString('base64'),
  sealedAt: new Date().toISOString(),
  late: false,
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
  const claimId = randomUUID();
  await store.claim(claimId, 2);
  const { total } = await readState(sql);
  t.true(await store.storeSeals(claimId, keyId, [first, third].map(sealOf(keyId))));
  t.deepEqual(await readState(sql), {
    sealed: [first],
    waiting: [second, third],
    total: total + 1,
  });

  t.true(await store.storeSeals(randomUUID(), keyId, [sealOf(keyId)(second)]), 'another claim');
  t.true(await store.storeSeals(claimId, keyId, []));
  t.deepEqual(await readState(sql), {
    sealed: [first],
    waiting: [second, third],
    total: total + 1,
  });
});

test('a key that is no longer active seals nothing, and loses no lease', async (t) => {
  const { sql, store, keyId } = t.context;
  const ids = await insertEntries(sql, 2);
  const claimId = randomUUID();
  await store.claim(claimId, 10);
  await sql(`update signing_keys set state = 'RETIRED', retired_at = now()`);
  const before = await readState(sql);
  t.false(await store.storeSeals(claimId, keyId, ids.map(sealOf(keyId))));
  t.false(
    await store.storeSeals(claimId, '0'.repeat(32), ids.map(sealOf(keyId))),
    'an unknown key',
  );
  t.deepEqual(await readState(sql), before);
  const leases = await sql('select claim_id from audit_queue');
  t.deepEqual(leases, [{ claim_id: claimId }, { claim_id: claimId }]);
});

test('a key that is being retired seals nothing', async (t) => {
  const { vault, sql, store, keyId } = t.context;
  const ids = await insertEntries(sql, 1);
  const claimId = randomUUID();
  await store.claim(claimId, 10);
  const retiring = await connectAs(vault.databases.admin);
  t.teardown(() => retiring.end());
  await retiring.query('begin');
  await retiring.query(`update signing_keys set state = 'RETIRED', retired_at = now()`);
  const stored = store.storeSeals(claimId, keyId, ids.map(sealOf(keyId)));
  t.is(await Promise.race([stored, pause(500, 'waits')]), 'waits');
  await retiring.query('commit');
  t.false(await stored);
  t.deepEqual((await readState(sql)).waiting, ids);
});
