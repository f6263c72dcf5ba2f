import { sql, type QueryCreator, type Selectable } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { violatesUnique } from '../../db/pg-error.ts';
import { compileOnce } from '../../db/compile-once.ts';
import { commitWith } from '../../db/transaction.ts';
import type { Schema } from '../../db/schema.ts';
import { AppError } from '../../errors/app-error.ts';
import { historyOf, type HistoryRow } from './history.ts';

type Columns = Selectable<Schema['sync_objects']>;

const columns = ['object_type', 'version', 'data', 'last_modified_at'] as const;
export type ObjectRow = Pick<Columns, (typeof columns)[number]>;

/**
 * Locks an object's row against other writes for the rest of `tx`, and returns the row. Throws
 * not_found.
 */
export async function lockObject(
  tx: Tx,
  { userId, tenantId }: Owner,
  objectId: string,
): Promise<ObjectRow> {
  takesLock(tx, 'sync object');
  const [row] = await selectForUpdate(tx, { userId, tenantId, objectId });
  return assertFound(row);
}

const selectForUpdate = compileOnce((sought: Owner & { readonly objectId: string }, db) =>
  findObject(db, sought, sought.objectId).forUpdate().compile(),
);

/** Loads the current state of an object. Throws not_found, also for a tombstone. */
export async function loadObject(
  tx: Tx,
  owner: Owner,
  objectId: string,
): Promise<ObjectRow & { readonly data: string }> {
  const row = assertFound(await findObject(tx, owner, objectId).executeTakeFirst());
  const { data } = row;
  if (data === null) throw new AppError('not_found');
  return { ...row, data };
}

/** Throws not_found unless the object or its tombstone exists. */
export async function assertKnown(tx: Tx, owner: Owner, objectId: string): Promise<void> {
  const row = selectObject(tx, owner, objectId).select('object_id');
  assertFound(await row.executeTakeFirst());
}

function findObject(tx: Tx, owner: Owner, objectId: string) {
  return selectObject(tx, owner, objectId).select(columns);
}

function selectObject(tx: Tx, { userId, tenantId }: Owner, objectId: string) {
  return tx
    .selectFrom('sync_objects')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('object_id', '=', objectId);
}

function assertFound<Row>(row: Row | undefined): Row {
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/**
 * Stores a new object with its history. Throws object_exists if the id belongs to an object or a
 * tombstone.
 */
export async function insertObject(
  tx: Tx,
  owner: Owner,
  object: Pick<Columns, 'object_id' | 'object_type' | 'data' | 'last_modified_at'>,
  history: HistoryRow,
): Promise<void> {
  const { userId: user_id, tenantId: tenant_id } = owner;
  try {
    await tx
      .with('next', (cte) => nextChange(cte, owner))
      .with('kept', (cte) => cte.insertInto('sync_history').values(history))
      .insertInto('sync_objects')
      .values(({ selectFrom }) => ({
        ...object,
        user_id,
        tenant_id,
        version: 1,
        change_seq: selectFrom('next').select('last_change'),
      }))
      .execute();
  } catch (cause) {
    const exists =
      violatesUnique(cause, 'sync_objects_pkey') || violatesUnique(cause, 'sync_history_version');
    throw exists ? new AppError('object_exists', { cause }) : cause;
  }
}

/**
 * Changes a locked object to the version of `history` and stores the history, together with the
 * commit. If `data` is null, the object becomes a tombstone.
 */
export function updateObject(
  tx: Tx,
  { data, last_modified_at: modifiedAt }: Pick<Columns, 'data' | 'last_modified_at'>,
  history: HistoryRow,
): void {
  commitWith(tx, updateRow(tx, { ...history, data, modifiedAt, deleted: data === null }));
}

interface Update extends HistoryRow {
  readonly data: string | null;
  readonly modifiedAt: Date;
  readonly deleted: boolean;
}

const updateRow = compileOnce((row: Update, db) =>
  db
    .with('next', (cte) => nextChange(cte, { userId: row.user_id, tenantId: row.tenant_id }))
    .with('kept', (cte) => cte.insertInto('sync_history').values(historyOf(row)))
    .updateTable('sync_objects')
    .set(({ selectFrom }) => ({
      version: row.version,
      data: row.data,
      deleted: row.deleted,
      last_modified_at: row.modifiedAt,
      change_seq: selectFrom('next').select('last_change'),
    }))
    .where('user_id', '=', row.user_id)
    .where('tenant_id', '=', row.tenant_id)
    .where('object_id', '=', row.object_id)
    .compile(),
);

/**
 * Takes the user's next change number, and locks the counter's row until the transaction ends.
 * Change numbers are therefore committed in order: a reader that has seen a number has missed no
 * lower number.
 */
function nextChange(cte: QueryCreator<Schema>, { userId, tenantId }: Owner) {
  return cte
    .insertInto('sync_counters')
    .values({ user_id: userId, tenant_id: tenantId, last_change: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'tenant_id'])
        .doUpdateSet({ last_change: sql`sync_counters.last_change + 1` }),
    )
    .returning('last_change');
}
