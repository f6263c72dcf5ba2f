import { sql } from 'kysely';
import type { Tx } from '../database.ts';

export interface PolicyFacts {
  readonly name: string;
  readonly command: string;
  readonly isRestrictive: boolean;
  readonly roles: readonly string[];
  /** Expressions as Postgres prints them; null if absent. */
  readonly using: string | null;
  readonly check: string | null;
}

/** The row-level security and the triggers of a table or view of the database. */
export interface TableFacts {
  readonly name: string;
  /** The name of the partitioned table of which this one is a partition; null for any other. */
  readonly parent: string | null;
  readonly isEnabled: boolean;
  readonly isForced: boolean;
  /** Whether a view shows each login only the rows that this login may read. */
  readonly isInvoker: boolean;
  readonly policies: readonly PolicyFacts[];
  /** The names of the triggers that are switched on. */
  readonly triggers: readonly string[];
}

/** Reads the row-level security and the triggers of all tables and views. */
export async function readTableFacts(tx: Tx): Promise<readonly TableFacts[]> {
  const { rows } = await sql<TableFacts>`
    select c.relname::text as name,
      (select inhparent::regclass::text from pg_inherits where inhrelid = c.oid) as parent,
      c.relrowsecurity as "isEnabled",
      c.relforcerowsecurity as "isForced",
      coalesce(c.reloptions @> '{security_invoker=true}', false) as "isInvoker",
      coalesce((
        select json_agg(json_build_object('name', policyname, 'command', lower(cmd),
          'isRestrictive', permissive = 'RESTRICTIVE', 'roles', roles, 'using', qual,
          'check', with_check))
        from pg_policies where schemaname = 'public' and tablename = c.relname
      ), '[]') as policies,
      array(
        select tgname::text from pg_trigger
        where tgrelid = c.oid and not tgisinternal and tgenabled in ('O', 'A')
      ) as triggers
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')`.execute(tx);
  return rows;
}
