import { sql, type RawBuilder } from 'kysely';

/** Milliseconds after a reading from the start until the next one. */
const wholePauseMs = 300_000;

/** The result of a reading of the queue. */
export interface QueueReading {
  /** Where the next reading begins: `nextFrom` of where this one began. */
  readonly next: string;
}

/**
 * Creates a cursor of the queue of unsealed entries: the lowest number of a transaction whose
 * entries may still wait. A reader that begins there passes none of the rows that were removed
 * before, which stay in the index while an old snapshot (a dump) may see them.
 *
 * Each process reads from the start first, and again every five minutes: after a failover that lost
 * the last transactions, Postgres gives their numbers to others, and an entry may be below.
 * @param now A time in milliseconds, which never goes back.
 */
export function createQueueCursor(now: () => number = () => performance.now()) {
  let lowest = '0';
  let wholeAt = -Infinity;
  return {
    /** Where a reading begins that does not move the cursor. */
    get lowest(): string {
      return lowest;
    },
    /** Reads the queue from the number of a transaction on. Readings may overlap. */
    async read<Found extends QueueReading>(
      reading: (from: string) => Promise<Found>,
    ): Promise<Found> {
      const isWhole = now() >= wholeAt;
      const found = await reading(isWhole ? '0' : lowest);
      if (isWhole) wholeAt = now() + wholePauseMs;
      lowest = found.next;
      return found;
    },
  };
}

export type QueueCursor = ReturnType<typeof createQueueCursor>;

/** Where a reading of the queue begins. */
export type QueueStart = Pick<QueueCursor, 'lowest'>;

/**
 * Returns the number below which no transaction has or will have an entry in the queue, if there is
 * none below `from`: that of the first entry, or of the first transaction that has not ended.
 */
export function nextFrom(from: string): RawBuilder<string> {
  return sql`least(pg_snapshot_xmin(pg_current_snapshot()), (
    select transaction_id from audit_queue where transaction_id >= ${from}::xid8
    order by transaction_id limit 1))::text`;
}
