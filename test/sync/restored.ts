import { runCli } from '../support/processes/run-cli.ts';
import type { Sql } from '../support/vault/sql.ts';
import type { Vault } from '../support/vault/vault.ts';
import { testIssuer } from '../support/vault/stack.ts';

const tables = ['sync_objects', 'sync_history', 'sync_counters', 'sync_requests'];

/** Puts back a user's objects as they were backed up. */
export type Restore = () => Promise<void>;

/** Backs up a user's objects as they are now. */
export async function backUpObjects(sql: Sql, userId: string): Promise<Restore> {
  const backups = await Promise.all(
    tables.map(async (table) => {
      const [row] = await sql(
        `select coalesce(json_agg(t), '[]')::text as rows from ${table} t where user_id = $1`,
        [userId],
      );
      return { table, rows: String(row?.['rows']) };
    }),
  );
  return async () => {
    for (const { table, rows } of backups) {
      await sql(`delete from ${table} where user_id = $1`, [userId]);
      await sql(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
        rows,
      ]);
    }
  };
}

/** Reports a restore as an operator does, and returns the epoch that it begins. */
export async function tellRestored({ databases }: Vault): Promise<string> {
  const { code, stdout, stderr } = await runCli(['restored'], {
    HTTP_PUBLIC_URL: testIssuer,
    DATABASE_SERVICE_URL: databases.service,
  });
  const [, epoch] = /^sync cursors now belong to epoch ([0-9a-f]{16})\n$/.exec(stdout) ?? [];
  if (code !== 0 || epoch === undefined) throw new Error(stdout + stderr);
  return epoch;
}
