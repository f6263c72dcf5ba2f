import { sql, type SelectQueryBuilder } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';
import { compileOnce } from '../db/compile-once.ts';
import type { Schema } from '../db/schema.ts';
import { byOwner, type RequestEvent } from '../audit-trail/event.ts';
import type { Revocations } from './revocations.ts';

const dayMs = 86_400_000;
/**
 * Milliseconds for which expired sessions are kept, so that the reuse of their refresh tokens is
 * detected.
 */
const keptMs = 30 * dayMs;
/** The most login sessions of a user that are open. */
export const maxOpenSessions = 100;

/**
 * Ends the open login sessions of a user that were used longest ago, beyond the 100 that may be
 * open. `newSessionId` is the session that has just been opened, which stays. Resolves with the
 * events to record.
 */
export async function endSurplus(
  tx: Tx,
  revocations: Revocations,
  owner: Owner,
  newSessionId: string,
): Promise<RequestEvent[]> {
  const events: RequestEvent[] = [];
  for (const id of await lockSurplus(tx, owner.userId, newSessionId)) {
    await revocations.revoke(tx, owner, id);
    events.push({
      action: 'auth.session_revoked',
      ...byOwner(owner),
      resource: { type: 'session', id },
      data: { bySession: newSessionId },
    });
  }
  return events;
}

/** Locks the surplus sessions in id order, so that concurrent calls cannot deadlock. */
async function lockSurplus(tx: Tx, userId: string, newSessionId: string): Promise<string[]> {
  takesLock(tx, 'login session');
  const rows = await selectSurplus(tx, { userId, newSessionId });
  return rows.map(({ id }) => id);
}

const selectSurplus = compileOnce(
  ({ userId, newSessionId }: { readonly userId: string; readonly newSessionId: string }, db) =>
    db
      .selectFrom('login_sessions')
      .select('id')
      .where('id', 'in', (query) =>
        query
          .selectFrom('login_sessions')
          .select('id')
          .where('user_id', '=', userId)
          .where('id', '<>', newSessionId)
          .where('revoked_at', 'is', null)
          .where('expires_at', '>', sql<Date>`now()`)
          .orderBy('last_used_at', 'desc')
          .offset(maxOpenSessions - 1),
      )
      .where('revoked_at', 'is', null)
      .orderBy('id')
      .forUpdate()
      .compile(),
);

/** Returns the time before which sessions expired that are not kept any more. */
function expiredBefore(now: Date): Date {
  return new Date(now.getTime() - keptMs);
}

/** Returns the time before which sessions were ended that are not kept any more. */
function endedBefore(now: Date): Date {
  return new Date(now.getTime() - dayMs);
}

/**
 * Removes at most `limit` login sessions that expired over 30 days ago, whose tokens are refused in
 * any case. The reuse of a removed token is still refused, but no longer detected. Resolves with
 * the number of removed sessions.
 */
export function removeExpiredSessions(tx: Tx, now: Date, limit: number): Promise<number> {
  const expired = tx
    .selectFrom('login_sessions')
    .select('id')
    .where('expires_at', '<', expiredBefore(now))
    .orderBy('expires_at');
  return removeSessions(tx, expired.limit(limit));
}

/** Removes at most `limit` login sessions that were ended over a day ago, likewise. */
export function removeEndedSessions(tx: Tx, now: Date, limit: number): Promise<number> {
  const ended = tx
    .selectFrom('login_sessions')
    .select('id')
    .where('revoked_at', '<', endedBefore(now))
    .orderBy('revoked_at');
  return removeSessions(tx, ended.limit(limit));
}

async function removeSessions(
  tx: Tx,
  ids: SelectQueryBuilder<Schema, 'login_sessions', { id: string }>,
): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('login_sessions')
    .where('id', 'in', ids.forUpdate().skipLocked())
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Counts the sessions that are removed without a limit. */
export async function countOldSessions(tx: Tx, now: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('login_sessions')
    .select(({ fn }) => fn.count<number>('id').as('count'))
    .where(({ eb, or }) =>
      or([eb('expires_at', '<', expiredBefore(now)), eb('revoked_at', '<', endedBefore(now))]),
    )
    .executeTakeFirstOrThrow();
  return count;
}
