import { sql } from 'kysely';
import type { Database, Owner, Tx } from '../../db/database.ts';
import type { DeviceCaller, DeviceGuard } from '../../devices/guard.ts';
import type { Cursor } from '../objects/cursor.ts';
import { readAfter, selectNewest, toCursor } from '../reading/read-after.ts';
import { createTurns } from '../../async/turns.ts';
import type { Change } from './events.ts';

/** What feeds read of Postgres. */
interface Changes {
  /** The cursor of the newest change, for whom DeviceGuard lets through. Throws as it does. */
  newest(reader: DeviceCaller): Promise<Cursor>;
  after(owner: Owner, cursor: Cursor): Promise<FeedPage>;
  /** The newest of many users in one query; without those who have no changes. */
  newestOf(userIds: readonly string[]): Promise<(Owner & { readonly newest: Cursor })[]>;
}

export interface FeedPage {
  /** The cursor that was asked for, or the start where this history never gave that out. */
  readonly start: Cursor;
  /** In the order of their commits, at most `pageSize`. */
  readonly changes: readonly Change[];
}

/** A page of this length may have another one after it. */
export const pageSize = 100;

/** However many feeds are woken, they leave the pool's other connections to requests. */
const readsAtOnce = 4;

interface ChangesOptions {
  readonly db: Database;
  readonly deviceGuard: DeviceGuard;
}

export function createChanges({ db, deviceGuard }: ChangesOptions): Changes {
  const turns = createTurns(readsAtOnce);
  return {
    newest: (reader) =>
      db.asUser(reader.caller, async (tx) => {
        await deviceGuard.admit(tx, reader);
        return toCursor(await selectNewest(tx, reader.caller).executeTakeFirstOrThrow());
      }),

    after: (owner, cursor) =>
      turns.take(() => db.asUser(owner, (tx) => readPage(tx, owner, cursor))),

    newestOf: (userIds) =>
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
