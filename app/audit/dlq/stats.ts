import type { Reach } from '../../accounts/reach.ts';
import type { Database } from '../../db/database.ts';
import { selectLetters } from './letters.ts';

interface DlqStats {
  /** How many entries were ever in the queue. */
  readonly total: number;
  readonly pending: number;
  readonly abandoned: number;
  readonly recovered: number;
  /** When the oldest pending entry entered the queue. */
  readonly oldestAt: Date | null;
  /** Number of pending entries for each reason of the last failure. */
  readonly byReason: Readonly<Record<string, number>>;
}

/** Counts the dead letters in reach by status, and the pending ones by reason. */
export async function readDlqStats(db: Database, reach: Reach): Promise<DlqStats> {
  const groups = await db.asService((tx) =>
    selectLetters(tx, reach)
      .select(['status', 'reason'])
      .select(({ fn }) => [
        fn.countAll<number>().as('count'),
        fn.min<Date>('created_at').as('oldestAt'),
      ])
      .groupBy(['status', 'reason'])
      .execute(),
  );
  const countOf = (status?: string) =>
    groups
      .filter((group) => status === undefined || group.status === status)
      .reduce((sum, { count }) => sum + count, 0);
  const pending = groups.filter(({ status }) => status === 'PENDING');
  const [oldest] = pending.toSorted((a, b) => a.oldestAt.getTime() - b.oldestAt.getTime());
  return {
    total: countOf(),
    pending: countOf('PENDING'),
    abandoned: countOf('ABANDONED'),
    recovered: countOf('RECOVERED'),
    oldestAt: oldest?.oldestAt ?? null,
    byReason: Object.fromEntries(pending.map(({ reason, count }) => [reason, count])),
  };
}
