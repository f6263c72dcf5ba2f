import { sql } from 'kysely';
import { ofQueue, type Database } from '../../db/database.ts';
import { poll } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import { nextFrom, type QueueCursor, type QueueReading } from './queue-cursor.ts';

const pauses = { busyMs: 1_000, idleMs: 5_000 };

interface BacklogOptions {
  readonly db: Database;
  readonly cursor: QueueCursor;
  /** Number of unsigned entries above which the backlog is full for everybody. */
  readonly limit: number;
  /**
   * Number of unsigned entries of one owner above which the backlog is full for that owner. Entries
   * of tallies do not count, since others can cause them.
   */
  readonly ownerLimit: number;
  readonly log: Log;
}

interface Counted {
  readonly isFull: boolean;
  /** Ids of the owners with more than `ownerLimit` entries. */
  readonly fullOwners: ReadonlySet<string>;
}

/**
 * Starts to count the unsigned entries of all replicas, until stopped: once a second while there
 * are any or this process appends some, and every 5 s otherwise.
 */
export function watchBacklog(options: BacklogOptions) {
  let counted: Counted = { isFull: false, fullOwners: new Set() };

  async function count(): Promise<boolean> {
    const { total, owners } = await options.cursor.read((from) => readBacklog(options, from));
    counted = { isFull: total > options.limit, fullOwners: new Set(owners) };
    return total > 0;
  }

  const counting = poll(pauses, count, (error) =>
    options.log.warn({ err: error }, 'the audit backlog could not be counted; retrying'),
  );
  counting.now();
  return {
    /**
     * Returns whether the last count was above `limit`, or the count of the owner's entries above
     * `ownerLimit`.
     */
    isFull: (ownerId: string | undefined): boolean =>
      counted.isFull || (ownerId !== undefined && counted.fullOwners.has(ownerId)),
    /** Tells that this process has appended an entry. */
    appended: counting.soon,
    stop: (): Promise<void> => counting.stop(),
  };
}

interface Backlog extends QueueReading {
  /** Number of entries, at most one above `limit`. */
  readonly total: number;
  /** Ids of the owners with more than `ownerLimit` of them. */
  readonly owners: readonly string[];
}

/** Counts unsigned entries in one pass over the queue, which ends when `limit` is exceeded. */
async function readBacklog(
  { db, limit, ownerLimit }: BacklogOptions,
  from: string,
): Promise<Backlog> {
  const { rows } = await db.asService(
    (tx) =>
      sql<Backlog>`
      with waiting as materialized (
        select user_id, is_tallied from audit_queue where transaction_id >= ${from}::xid8
        order by transaction_id limit ${limit + 1}
      )
      select ${nextFrom(from)} as next,
        (select count(*) from waiting) as total,
        array(
          select user_id from waiting where not is_tallied
          group by user_id having count(*) > ${ownerLimit}
        ) as owners`.execute(tx),
    ofQueue,
  );
  const [found] = rows;
  if (found === undefined) throw new Error('a select without from has one row');
  return found;
}
