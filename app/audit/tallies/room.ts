import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { nextFrom, type QueueCursor, type QueueReading } from '../sealing/queue-cursor.ts';

interface Counted extends QueueReading {
  readonly count: number;
}

/** Reads how many more entries of tallies and downloads may be appended now. */
export type Room = (tx: Tx) => Promise<number>;

/**
 * Creates the limit of the entries of tallies and downloads that wait for their signature: others
 * than their owners can cause them, so that they must not fill the backlog.
 */
export function limitTallied(cursor: QueueCursor, limit: number): Room {
  return async (tx) => {
    const { count } = await cursor.read((from) => countWaiting(tx, from, limit));
    return limit - count;
  };
}

/** Counts the entries of tallies and downloads that wait, up to `limit`. */
async function countWaiting(tx: Tx, from: string, limit: number): Promise<Counted> {
  return tx
    .selectNoFrom([
      nextFrom(from).as('next'),
      sql<number>`(select count(*) from (
        select from audit_queue where is_tallied and transaction_id >= ${from}::xid8
        limit ${limit}) as waiting)`.as('count'),
    ])
    .executeTakeFirstOrThrow();
}
