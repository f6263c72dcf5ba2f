import { sql } from 'kysely';
import type { Tx } from '../../../db/database.ts';
import { entities } from '../../../db/schema.ts';

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  readonly indexes: readonly string[];
}

/**
 * Returns how the tables of the database differ from those of this version, with the remedy, in one
 * line; undefined if they do not. The logins of the app may not read which migrations ran.
 */
export async function findSchemaProblem(tx: Tx): Promise<string | undefined> {
  const actual = new Map((await readTables(tx)).map((table) => [table.name, table]));
  for (const { name, columns, indexes } of expectTables()) {
    const found = actual.get(name);
    if (found === undefined) return `the table ${name} is missing: run probatio migrate`;
    const column = columns.find((each) => !found.columns.includes(each));
    if (column !== undefined) return `${name} lacks the column ${column}: run probatio migrate`;
    const index = indexes.find((each) => !found.indexes.includes(each));
    if (index !== undefined) return `${name} lacks the index ${index}: run probatio migrate`;
    const extra = found.columns.find((each) => !columns.includes(each));
    if (extra !== undefined) {
      return `${name} has the column ${extra} of another version: run that version of the app`;
    }
  }
  return undefined;
}

function expectTables(): readonly Table[] {
  return entities.map(({ meta }) => ({
    name: meta.tableName,
    columns: Object.entries(meta.properties).map(([name, { kind }]) => toColumn(name, kind)),
    indexes: [...meta.indexes, ...meta.uniques].flatMap(({ name }) =>
      typeof name === 'string' ? [name] : [],
    ),
  }));
}

/** Returns the name of the column of a property, as MikroORM derives it. */
function toColumn(property: string, kind: string | undefined): string {
  const name = property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return kind === 'm:1' ? `${name}_id` : name;
}

async function readTables(tx: Tx): Promise<readonly Table[]> {
  const { rows } = await sql<Table>`
    select c.relname::text as name,
      array(select attname::text from pg_attribute
        where attrelid = c.oid and attnum > 0 and not attisdropped) as columns,
      array(select i.relname::text from pg_index join pg_class i on i.oid = indexrelid
        where indrelid = c.oid) as indexes
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v')`.execute(tx);
  return rows;
}
