import { sql, type Selectable } from 'kysely';
import { isOfMonths, readMonths, type Month } from '../../audit-trail/archived-months.ts';
import { nobody } from '../../audit-trail/event.ts';
import { selectTrailsOf } from '../../audit-trail/trails.ts';
import { atOnce, type Database, type Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import {
  asReader,
  compileReading,
  selectReadable,
  wholeLog,
  type EntryReader,
} from '../entries/readers.ts';

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
  db: Database,
  caller: EntryReader,
  entryIds: readonly string[],
): Promise<{ readonly rows: readonly ProofRow[]; readonly away: readonly Month[] }> {
  const rows = await asReader(
    db,
    caller,
    (tx) => selectByIds(tx, caller, { ids: entryIds }),
    atOnce,
  );
  if (rows.length === entryIds.length) return { rows, away: [] };
  const found = new Set(rows.map(({ id }) => id));
  return asReader(db, caller, async (tx) => {
    const { away, returned } = await readMonths(tx);
    // A month may have returned since the entries were read.
    const ids = entryIds.filter((id) => !found.has(id) && isOfMonths(returned, id));
    return ids.length === 0
      ? { rows, away }
      : { rows: [...rows, ...(await selectByIds(tx, caller, { ids }))], away };
  });
}

const selectByIds = compileReading((entries, { ids }: { readonly ids: readonly string[] }) =>
  entries
    .select(readColumns)
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .compile(),
);

/** Reads the entries of the last restores of the vault, newest first. */
export async function readRestores(tx: Tx, limit: number): Promise<ProofRow[]> {
  const trails = selectTrailsOf(tx, nobody, 'vault');
  return (
    tx
      // The entries about the vault are few. Newest first, all of the log would be read.
      .with(
        (cte) => cte('restores').materialized(),
        () =>
          selectReadable(tx, wholeLog)
            .select([...readColumns, 'action'])
            .where('trail_id', '=', sql<number>`any(array(${trails}))`),
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
