import { Client } from 'pg';

/** Tables that stay small, each with the reason. */
const small: ReadonlyMap<string, string> = new Map([
  ['audit_marks', 'one row'],
  ['audit_totals', 'a fixed number of slots'],
  ['encryption_keys', 'one row a generation'],
  ['isolation_canaries', 'two rows'],
  ['downloads', 'downloads of the last minutes, until they are entries'],
  ['job_totals', 'one row for each type and state'],
  ['log_findings', 'one row for each damage that was found'],
  ['log_walks', 'one row a walk'],
  ['maintenance_locks', 'one row a task'],
  ['maintenance_runs', 'a bounded number of rows a task'],
  ['migrations', 'one row a release'],
  ['restore_acceptances', 'one row a restore'],
  ['signing_keys', 'one row a key of the HSM'],
  ['sync_epochs', 'one row'],
]);

const rows = 100_000;
/** How many different values a column has in these statistics; others have the default of 200. */
const distinct: Readonly<Record<string, number>> = {
  tenant_id: 1,
  status: 3,
  state: 3,
  kind: 3,
};

/**
 * Gives each table that grows the statistics of 10^5 rows in one tenant. Postgres plans by
 * statistics alone, so the rows themselves need not be stored. Of users it has none: the migrations
 * see to that.
 */
export async function pretendManyRows(adminUrl: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(
      `select pg_restore_relation_stats(
         'schemaname', 'public', 'relname', relname::text,
         'relpages', (pg_relation_size(oid) / 8192)::int, 'reltuples', $1::real)
       from pg_class
       where relnamespace = 'public'::regnamespace and relkind = 'r'
         and relname <> all($2::text[]) and pg_relation_size(oid) > 0`,
      [rows, [...small.keys()]],
    );
    await client.query(
      `select pg_restore_attribute_stats(
         'schemaname', 'public', 'relname', relname::text, 'attname', attname::text,
         'inherited', false, 'null_frac', 0::real, 'avg_width', 16,
         'n_distinct', (($1::jsonb) ->> attname)::real)
       from pg_class join pg_attribute on attrelid = pg_class.oid
       where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0
         and relname <> all($2::text[]) and ($1::jsonb) ? attname`,
      [JSON.stringify(distinct), [...small.keys()]],
    );
  } finally {
    await client.end();
  }
}

export function isSmall(table: string): boolean {
  return small.has(table);
}
