import type { Client } from 'pg';

/** A column or a check of the log that a table of a month lacks, as SQL that adds it. */
interface Missing {
  readonly added: string;
}

/**
 * Adds the columns and checks that a table of a month lacks, since a release added them to the log
 * while the month was away. Its rows get the defaults of the columns, as those of the log did.
 */
export async function takeParentShape(
  client: Client,
  parent: string,
  table: string,
): Promise<void> {
  for (const text of [missingColumns, missingChecks]) {
    const { rows } = await client.query<Missing>(text, [`public.${parent}`, `public.${table}`]);
    for (const { added } of rows) await client.query(`alter table ${table} add ${added}`);
  }
}

const missingColumns = `
  select format('column %I %s', a.attname, format_type(a.atttypid, a.atttypmod))
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
    || case when a.attnotnull then ' not null' else '' end as added
  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and not exists (
    select from pg_attribute own where own.attrelid = $2::regclass and own.attname = a.attname)
  order by a.attnum`;

const missingChecks = `
  select format('constraint %I %s', c.conname, pg_get_constraintdef(c.oid)) as added
  from pg_constraint c
  where c.conrelid = $1::regclass and c.contype = 'c' and not exists (
    select from pg_constraint own where own.conrelid = $2::regclass and own.conname = c.conname)
  order by c.conname`;
