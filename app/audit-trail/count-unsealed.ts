import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';

/** Counts the entries that wait for their signature, up to `limit`. */
export async function countUnsealed(tx: Tx, limit: number): Promise<number> {
  const { rows } = await sql<{ readonly count: number }>`
    select count(*) as count
    from (select 1 from audit_entries where state = 'PENDING' limit ${limit}) as unsealed`.execute(
    tx,
  );
  return rows[0]?.count ?? 0;
}
