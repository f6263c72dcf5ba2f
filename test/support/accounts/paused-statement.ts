import { until } from '../../../app/dev/processes/until.ts';
import { connectAs } from './two-tenants.ts';
import { createSql } from '../vault/sql.ts';
import type { Vault } from '../vault/vault.ts';

const lockKey = 4_711;

/**
 * Makes every transaction wait at a statement such as `insert on documents` until `end` is called.
 */
export async function pauseAt(vault: Vault, statement: string): Promise<{ end(): Promise<void> }> {
  const holder = await connectAs(vault.databases.admin);
  await holder.query(`select pg_advisory_lock(${lockKey})`);
  await holder.query(`
    create function pause() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(${lockKey}); return null; end $$;
    create trigger paused after ${statement} for each statement execute function pause()`);
  return {
    async end() {
      await holder.query(`select pg_advisory_unlock(${lockKey})`);
      await holder.end();
      await createSql(vault)('drop function pause cascade');
    },
  };
}

/** Resolves once `count` of the vault's transactions wait for a lock. */
export async function untilWaiting(vault: Pick<Vault, 'databases'>, count: number): Promise<void> {
  const sql = createSql(vault);
  // Ignores short waits, as the vault's workers also wait for each other.
  const waiting = `
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and query_start < clock_timestamp() - interval '50 milliseconds'`;
  await until(async () => (await sql(waiting)).length === count, {
    what: `${count} transactions to wait`,
    timeoutMs: 60_000,
  });
}
