import { sql } from 'kysely';
import type { Database, Tx } from '../../db/database.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import { isPendingTally } from '../tallies/tallied-event.ts';

const checkMs = 1_000;

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

/** Starts to count the unsigned entries of all replicas once a second, until stopped. */
export function watchBacklog(options: BacklogOptions) {
  let counted: Counted = { isFull: false, fullOwners: new Set() };

  async function count(): Promise<void> {
    counted = await countBacklog(options);
  }

  const counting = repeat(checkMs, count, (error) =>
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
    stop: (): Promise<void> => counting.stop(),
  };
}

/** The entries of all owners that wait for their signature. */
interface BacklogState {
  readonly unsigned: number;
  /** When the oldest of them was stored. */
  readonly oldestAt: Date | null;
}

/** Counts the entries of all owners that wait for their signature. */
export function readBacklog(tx: Tx): Promise<BacklogState> {
  return tx
    .selectFrom('audit_entries')
    .select(({ fn }) => [
      fn.count<number>('id').as('unsigned'),
      fn.min<Date | null>('created_at').as('oldestAt'),
    ])
    .where('state', '=', 'PENDING')
    .executeTakeFirstOrThrow();
}

/** Counts unsigned entries in one pass over their index, which ends when `limit` is exceeded. */
async function countBacklog({ db, limit, ownerLimit }: BacklogOptions): Promise<Counted> {
  const { rows } = await db.asService((tx) =>
    sql<{ readonly total: number; readonly owners: string[] }>`
      with waiting as materialized (
        select user_id from audit_entries where state = 'PENDING' limit ${limit + 1}
      ), tallied as (
        select user_id, count(*) as count from audit_entries where ${isPendingTally} group by 1
      )
      select (select count(*) from waiting) as total, array(
        select user_id from waiting left join tallied using (user_id)
        group by user_id, tallied.count
        having count(*) - coalesce(tallied.count, 0) > ${ownerLimit}
      ) as owners`.execute(tx),
  );
  const { total = 0, owners = [] } = rows[0] ?? {};
  return { isFull: total > limit, fullOwners: new Set(owners) };
}
