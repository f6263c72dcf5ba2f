import { sql, type Selectable } from 'kysely';
import { isOfMonths, readMonths, type Month } from '../../audit-trail/archived-months.ts';
import { nobody } from '../../audit-trail/event.ts';
import type { Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import { selectReadable, wholeLog, type EntryReader } from '../entries/readers.ts';

/** The columns of an entry from which its proof is put together. */
const readColumns = [
  'id',
  'canonical',
  'state',
  'hash',
  'signature',
  'key_id',
  'sealed_at',
  'late',
  'created_at',
] as const;

export type ProofRow = Pick<Selectable<Schema['audit_entries']>, (typeof readColumns)[number]>;

/** Reads entries and, if some are not there, the months that are away. */
export async function readRows(
  tx: Tx,
  caller: EntryReader,
  entryIds: readonly string[],
): Promise<{ readonly rows: readonly ProofRow[]; readonly away: readonly Month[] }> {
  const select = (ids: readonly string[]) =>
    selectReadable(tx, caller)
      .select(readColumns)
      .where('id', '=', sql<string>`any(${ids}::uuid[])`)
      .execute();
  const rows = await select(entryIds);
  if (rows.length === entryIds.length) return { rows, away: [] };
  const months = await readMonths(tx);
  const found = new Set(rows.map(({ id }) => id));
  // A month may have returned between the two statements.
  const returned = entryIds.filter((id) => !found.has(id) && isOfMonths(months.returned, id));
  return returned.length === 0
    ? { rows, away: months.away }
    : { rows: [...rows, ...(await select(returned))], away: months.away };
}

/** Reads the entries of the last restores of the vault, newest first. */
export async function readRestores(tx: Tx, limit: number): Promise<ProofRow[]> {
  return (
    tx
      // The entries about the vault are few. Newest first, all that are nobody's would be read.
      .with(
        (cte) => cte('restores').materialized(),
        () =>
          selectReadable(tx, wholeLog)
            .select([...readColumns, 'action'])
            .where('user_id', '=', nobody.userId)
            .where('tenant_id', '=', nobody.tenantId)
            .where('resource_type', '=', 'vault'),
      )
      .selectFrom('restores')
      .select(readColumns)
      .where('action', '=', 'vault.restored')
      .where('state', '=', 'SEALED')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute()
  );
}
