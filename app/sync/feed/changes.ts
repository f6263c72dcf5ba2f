import { sql } from 'kysely';
import type { Database, Owner, Tx } from '../../db/database.ts';
import type { DeviceGuard } from '../../devices/guard.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { Cursor } from '../objects/cursor.ts';
import { readAfter, selectNewest, toCursor } from '../reading/read-after.ts';
import { createTurns } from '../../async/turns.ts';
import type { Change } from './events.ts';

interface OwnersNewest extends Owner {
  readonly newest: Cursor;
}

export interface FeedPage {
  /**
   * The given cursor, or the start of the history if this history never issued the given cursor.
   */
  readonly start: Cursor;
  /** At most `pageSize` changes in the order of their commits. */
  readonly changes: readonly Change[];
}

/** The maximum number of changes on a page. A full page may be followed by another page. */
export const pageSize = 100;

/**
 * The maximum number of concurrent reads by feeds, so that many woken feeds leave database
 * connections to requests.
 */
const readsAtOnce = 4;

interface ChangesOptions {
  readonly db: Database;
  readonly deviceGuard: DeviceGuard;
}

/** Creates the database queries of change feeds. */
export function createChanges({ db, deviceGuard }: ChangesOptions) {
  const turns = createTurns(readsAtOnce);
  return {
    /** Returns the cursor of the caller's newest change. Throws as DeviceGuard does. */
    newest: ({ caller }: ServiceRequest, deviceId: string): Promise<Cursor> =>
      db.asUser(caller, async (tx) => {
        await deviceGuard.admit(tx, { caller, deviceId });
        return toCursor(await selectNewest(tx, caller).executeTakeFirstOrThrow());
      }),

    /** Reads a page of the changes after a cursor. */
    after: (owner: Owner, cursor: Cursor): Promise<FeedPage> =>
      turns.take(() => db.asUser(owner, (tx) => readPage(tx, owner, cursor))),

    /**
     * Returns the cursor of the newest change of each user, in one query. Leaves out users without
     * changes.
     */
    newestOf: (userIds: readonly string[]): Promise<OwnersNewest[]> =>
      db.asService(async (tx) => {
        const counters = await tx
          .selectFrom('sync_counters as n')
          .innerJoin('sync_epochs as e', (join) => join.onTrue())
          .select(['n.user_id as userId', 'n.tenant_id as tenantId'])
          .select(['e.epoch', 'n.last_change as newest'])
          .where('n.user_id', '=', sql<string>`any(${[...userIds]}::uuid[])`)
          .execute();
        return counters.map(({ userId, tenantId, ...newest }) => ({
          userId,
          tenantId,
          newest: toCursor(newest),
        }));
      }),
  };
}

async function readPage(tx: Tx, owner: Owner, cursor: Cursor): Promise<FeedPage> {
  const { start, rows } = await readAfter(cursor, (after) => {
    const found = tx
      .selectFrom('sync_objects as o')
      .innerJoin('sync_history as h', (join) =>
        join
          .onRef('h.user_id', '=', 'o.user_id')
          .onRef('h.tenant_id', '=', 'o.tenant_id')
          .onRef('h.object_id', '=', 'o.object_id')
          .onRef('h.version', '=', 'o.version')
          .on('h.status', '=', 'APPLIED'),
      )
      .select(['o.change_seq', 'o.object_id as objectId', 'o.version', 'o.deleted'])
      .select('h.device_id as deviceId')
      .where('o.user_id', '=', owner.userId)
      .where('o.tenant_id', '=', owner.tenantId)
      .where('o.change_seq', '>', after)
      .orderBy('o.change_seq')
      .limit(pageSize);
    return selectNewest(tx, owner)
      .leftJoin(found.as('c'), (join) => join.onTrue())
      .select(['change_seq', 'objectId', 'version', 'deleted', 'deviceId'])
      .orderBy('change_seq')
      .execute();
  });
  const changes = rows.map(({ change_seq, objectId, version, deleted, deviceId }) => ({
    cursor: { ...start, change: change_seq },
    objectId,
    version,
    deleted,
    deviceId,
  }));
  return { start, changes };
}
