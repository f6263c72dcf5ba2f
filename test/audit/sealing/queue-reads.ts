import { sql } from 'kysely';
import type { Tx } from '../../../app/db/database.ts';

/** Counts what this connection has read by the indexes of the queue, of removed rows too. */
export async function countKeys(tx: Tx): Promise<number> {
  const { rows } = await sql<{ readonly keys: number }>`
    select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int as keys from pg_index
    where indrelid = 'audit_queue'::regclass`.execute(tx);
  return rows[0]?.keys ?? 0;
}
