import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import { poll } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import { createQueueCursor } from './queue-cursor.ts';

const pauses = { busyMs: 1_000, idleMs: 5_000 };

interface BacklogOptions {
  readonly db: Database;
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
  const cursor = createQueueCursor();
  let counted: Counted = { isFull: false, fullOwners: new Set() };

  async function count(): Promise<boolean> {
    const { total, ...found } = await countBacklog(options, cursor);
    counted = found;
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

/** Counts unsigned entries in one pass over the queue, which ends when `limit` is exceeded. */
async function countBacklog(
  { db, limit, ownerLimit }: BacklogOptions,
  cursor: ReturnType<typeof createQueueCursor>,
): Promise<Counted & { readonly total: number }> {
  const from = cursor.next();
  const { rows } = await db.asService((tx) =>
    sql<{ readonly total: number; readonly first: string | null; readonly owners: string[] }>`
      with waiting as materialized (
        select entry_id, user_id, is_tallied from audit_queue where entry_id >= ${from}::uuid
        order by entry_id limit ${limit + 1}
      )
      select (select count(*) from waiting) as total,
        (select entry_id from waiting limit 1) as first,
        array(
          select user_id from waiting where not is_tallied
          group by user_id having count(*) > ${ownerLimit}
        ) as owners`.execute(tx),
  );
  const { total = 0, first = null, owners = [] } = rows[0] ?? {};
  cursor.found(first);
  return { total, isFull: total > limit, fullOwners: new Set(owners) };
}
