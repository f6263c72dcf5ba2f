import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';

/**
 * Takes up the longest parked messages again, as if they had never failed. Resolves with their
 * number, at most `limit`.
 */
export async function takeUpParked(tx: Tx, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update outbox set parked_at = null, attempts = 0, available_at = now()
    where id in (
      select id from outbox where parked_at is not null
      order by parked_at limit ${limit} for update skip locked
    )`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/** Counts the messages that are parked. */
export async function countParked(tx: Tx): Promise<number> {
  const { count } = await tx
    .selectFrom('outbox')
    .select(({ fn }) => fn.count<number>('id').as('count'))
    .where('parked_at', 'is not', null)
    .executeTakeFirstOrThrow();
  return count;
}

/** The parked messages of a kind. */
export interface ParkedMessages {
  readonly kind: string;
  readonly count: number;
}

/** Counts the parked messages by kind, in the order of the kinds. */
export async function countParkedByKind(tx: Tx): Promise<readonly ParkedMessages[]> {
  return tx
    .selectFrom('outbox')
    .select(['kind'])
    .select(({ fn }) => fn.count<number>('id').as('count'))
    .where('parked_at', 'is not', null)
    .groupBy('kind')
    .orderBy('kind')
    .execute();
}

/** The messages of the outbox that are not done. */
export interface OutboxState {
  /** Messages that are or will be tried, those under way included. */
  readonly waiting: number;
  /** When the oldest of these was added. */
  readonly oldestAt: Date | null;
  /** Number of parked messages by kind. */
  readonly parked: Readonly<Record<string, number>>;
}

/** Counts the messages that are not done. */
export async function readOutboxState(tx: Tx): Promise<OutboxState> {
  const waiting = await tx
    .selectFrom('outbox')
    .select(({ fn }) => [
      fn.count<number>('id').as('count'),
      fn.min<Date | null>('created_at').as('oldestAt'),
    ])
    .where('parked_at', 'is', null)
    .executeTakeFirstOrThrow();
  const parked = await countParkedByKind(tx);
  return {
    waiting: waiting.count,
    oldestAt: waiting.oldestAt,
    parked: Object.fromEntries(parked.map(({ kind, count }) => [kind, count])),
  };
}
