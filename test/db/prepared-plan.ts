import { sql, type Compilable } from 'kysely';
import type { Tx } from '../../app/db/database.ts';

let prepared = 0;

/** Prepares a statement on the connection of a transaction. Resolves with its name there. */
export async function prepareStatement(tx: Tx, statement: Compilable): Promise<string> {
  prepared += 1;
  const name = `explained_${prepared}`;
  await sql`prepare ${sql.id(name)} as ${sql.raw(statement.compile().sql)}`.execute(tx);
  return name;
}

/**
 * Executes a prepared statement with the values of another one of the same text. Returns its plan
 * as Postgres shows it in JSON, with buffers and the numbers of rows that it has read.
 */
export async function explainPrepared(
  tx: Tx,
  name: string,
  statement: Compilable,
): Promise<unknown> {
  const values = sql.join(statement.compile().parameters.map((value) => sql.lit(value)));
  const { rows } = await sql<{ readonly 'QUERY PLAN': readonly [{ readonly Plan: unknown }] }>`
    explain (analyze, buffers, format json) execute ${sql.id(name)}(${values})`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error('no plan');
  return row['QUERY PLAN'][0].Plan;
}
