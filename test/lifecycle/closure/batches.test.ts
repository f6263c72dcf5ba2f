import { randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { closureBatchSize } from '../../../app/lifecycle/closure/owned-data.ts';
import { close, createMember, rowsOf } from '../../support/accounts/closing.ts';
import { untilWaiting } from '../../support/accounts/paused-statement.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { testStack } from '../../support/vault/stack.ts';
import { startReadyVault } from '../../support/vault/vault.ts';

const patience = { timeoutMs: 120_000 };

const insertObjects = (sql: Sql, userId: string, count: number) =>
  sql(
    `insert into sync_objects
       (user_id, tenant_id, object_id, version, data, change_seq, last_modified_at)
     select $1, 'default', gen_random_uuid(), 1, '{}', n, now() from generate_series(1, $2) n`,
    [userId, count],
  );

/** Inserts documents of one version each, with their uploads. */
const insertDocuments = (sql: Sql, userId: string, count: number, status: 'PENDING' | 'SEALED') =>
  sql(
    `with added as (
      insert into upload_sessions (id, user_id, tenant_id, file_name, file_size, mime_type,
        total_parts, storage_key, storage_upload_id, status, expires_at, object_version, is_used)
      select gen_random_uuid(), $1, 'default', 'f', 1, 'application/octet-stream', 1,
        gen_random_uuid() || '/f', 'u' || n, 'COMPLETED', now(), 'v', true
      from generate_series(1, $2) n
      returning *
    ), documents as (
      insert into documents (id, user_id, tenant_id, place) select id, $1, 'default', id from added
    )
    insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
      object_version, file_size, file_hash, encrypted_metadata, status, sealed_at, proof_id)
    select id, 1, $1, 'default', storage_key, 'v', 1, storage_key, '', $3,
      case when $3 = 'SEALED' then now() end, case when $3 = 'SEALED' then id end
    from added`,
    [userId, count, status],
  );

/** Returns how many objects of a kind each entry of a closure and its sweeps counts. */
async function countsOf(sql: Sql, userId: string, kind: string): Promise<number[]> {
  const rows = await sql(
    `select (canonical::json -> 'data' ->> $2)::int as count from audit_entries
     where user_id = $1 and action in ('account.closed', 'account.swept') order by seq`,
    [userId, kind],
  );
  return rows.map(({ count }) => Number(count)).filter((count) => count > 0);
}

const countObjects = async (sql: Sql, userId: string) => {
  const [row] = await sql('select count(*)::int from sync_objects where user_id = $1', [userId]);
  return row?.['count'];
};

test('a large account is closed at once, and emptied batch by batch', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const member = await createMember(vault);
  const { userId } = member;
  const documents = closureBatchSize + 700;
  await insertDocuments(sql, userId, documents, 'PENDING');
  await insertDocuments(sql, userId, 30, 'SEALED');
  const objects = 2 * closureBatchSize + 1;
  await insertObjects(sql, userId, objects);

  t.is((await close(vault, member)).status, 204);
  const [account] = await sql('select status, email from accounts where id = $1', [userId]);
  t.deepEqual(account, { status: 'CLOSED', email: null });
  await until(async () => (await countObjects(sql, userId)) === 0, {
    what: 'the account to be empty',
    ...patience,
  });
  t.deepEqual(await rowsOf(vault, userId), { sealed: 30, uploads: 30 });
  t.deepEqual(await countsOf(sql, userId, 'documents'), [closureBatchSize, 700]);
  t.deepEqual(await countsOf(sql, userId, 'uploads'), [closureBatchSize, 700]);
  t.deepEqual(await countsOf(sql, userId, 'syncObjects'), [closureBatchSize, closureBatchSize, 1]);
});

test('a process that is killed between batches leaves the rest to the next one', async (t) => {
  const vault = await startVaultProcesses(testStack(), {});
  t.teardown(() => vault[Symbol.asyncDispose]());
  const sql = createSql(vault);
  const holder = await connectAs(vault.databases.admin);
  t.teardown(() => holder.end());
  const userId = randomUUID();
  const objects = 2 * closureBatchSize + 900;
  await insertObjects(sql, userId, objects);
  await sql(
    `insert into accounts (id, tenant_id, email, status, plan, roles, scopes, closed_at)
     values ($1, 'default', null, 'CLOSED', 'standard', '{user}', '{}', now())`,
    [userId],
  );
  // The second batch waits after its deletion, and before its commit.
  await holder.query('select pg_advisory_lock(4712)');
  await holder.query(`
    create function pause_late() returns trigger language plpgsql as $$ begin
      if (select count(*) from sync_objects) < ${objects - closureBatchSize} then
        perform pg_advisory_xact_lock_shared(4712);
      end if;
      return null;
    end $$;
    create trigger paused_late after delete on sync_objects for each statement
      execute function pause_late()`);
  await sql(
    "insert into outbox (id, kind, payload) values (gen_random_uuid(), 'account.sweep', $1)",
    [JSON.stringify({ userId, tenantId: 'default' })],
  );
  await untilWaiting(vault, 1);
  await vault.app.kill();
  await holder.query('select pg_advisory_unlock(4712)');
  await holder.query('drop function pause_late cascade');
  t.is(await countObjects(sql, userId), objects - closureBatchSize, 'one batch is committed');

  await sql("update outbox set available_at = now() where kind = 'account.sweep'");
  await vault.app.start();
  await until(async () => (await countObjects(sql, userId)) === 0, {
    what: 'the sweep to be finished',
    ...patience,
  });
  t.deepEqual(await countsOf(sql, userId, 'syncObjects'), [
    closureBatchSize,
    closureBatchSize,
    900,
  ]);
});
