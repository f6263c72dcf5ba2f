import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';
import { deletePages } from '../db/pages/delete-pages.ts';

/**
 * Removes the e-mails about these users, and to this e-mail address, that have not been sent yet.
 * Resolves with their number. An e-mail that is being sent right now may still arrive.
 */
export async function removeWaitingMails(
  tx: Tx,
  userIds: readonly string[],
  email: string | null = null,
): Promise<number> {
  const isAbout = sql<boolean>`user_id = any(${userIds}::uuid[])`;
  const isTo = sql<boolean>`payload::json ->> 'to' = ${email}`;
  const isMeant = email === null ? isAbout : sql<boolean>`(${isAbout} or ${isTo})`;
  const where = sql<boolean>`kind = 'email' and ${isMeant}`;
  return deletePages(tx, { table: 'outbox', where });
}

/** Counts the e-mails about these users that have not been sent yet. */
export async function countWaitingMails(tx: Tx, userIds: readonly string[]): Promise<number> {
  const { count } = await tx
    .selectFrom('outbox')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', 'in', userIds)
    .where('kind', '=', 'email')
    .executeTakeFirstOrThrow();
  return count;
}

/** The messages of a kind that are due. */
export interface WaitingMessages {
  readonly kind: string;
  readonly count: number;
  /** Seconds since the oldest of them was added. */
  readonly oldestAgeSeconds: number;
}

/** Counts the messages by kind, without those that are parked or to be carried out later. */
export async function countWaiting(tx: Tx): Promise<readonly WaitingMessages[]> {
  const { rows } = await sql<WaitingMessages>`
    select kind, count(*) as count,
      extract(epoch from clock_timestamp() - min(created_at))::float8 as "oldestAgeSeconds"
    from outbox
    where parked_at is null and (attempts > 0 or available_at <= now()) group by kind`.execute(tx);
  return rows;
}

/** Returns the keys among `keys` whose message of this kind already waits in the outbox. */
export async function findWaitingRemovals(
  tx: Tx,
  kind: 'multipart.abort' | 'object.delete',
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ key: string }>`
    select key from unnest(${keys}::text[]) as key where exists (select from outbox
      where kind in ('object.delete', 'multipart.abort') and kind = ${kind}
        and payload::json ->> 'key' = key)`.execute(tx);
  return new Set(rows.map(({ key }) => key));
}

/**
 * Deletes a message in the transaction of its effect. Resolves with false if the message was
 * already processed.
 */
export async function takeMessage(tx: Tx, messageId: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('outbox')
    .where('id', '=', messageId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
