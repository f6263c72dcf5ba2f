import type { Client } from 'pg';
import type { Month } from '../../audit-trail/archived-months.ts';

/** Lists the months of which the log has partitions, oldest first. */
export async function listPartitions(client: Client): Promise<readonly Month[]> {
  const { rows } = await client.query<{ readonly month: Month }>(
    `select replace(substr(c.relname, length('audit_log_') + 1), '_', '-') as month
     from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'audit_log'::regclass order by 1`,
  );
  return rows.map(({ month }) => month);
}
