import { connectAs } from '../support/accounts/two-tenants.ts';
import { createSql } from '../support/vault/sql.ts';
import type { Vault } from '../support/vault/vault.ts';

const lockKey = 4_712;

/** Pauses every transaction that inserts into a table during its commit, until `end`. */
export async function pauseCommits(vault: Vault, table: string): Promise<{ end(): Promise<void> }> {
  const holder = await connectAs(vault.databases.admin);
  await holder.query(`select pg_advisory_lock(${lockKey})`);
  await holder.query(`
    create function pause_commit() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(${lockKey}); return null; end $$;
    create constraint trigger paused_commit after insert on ${table} deferrable initially deferred
    for each row execute function pause_commit()`);
  return {
    async end() {
      await holder.query(`select pg_advisory_unlock(${lockKey})`);
      await holder.end();
      await createSql(vault)('drop function pause_commit cascade');
    },
  };
}
