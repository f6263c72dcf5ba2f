import { sql } from 'kysely';
import type { Database, Owner, Tx } from '../db/database.ts';
import { afterCommit } from '../db/transaction.ts';
import { AppError } from '../errors/app-error.ts';
import { repeat } from '../async/repeat.ts';
import type { Log } from '../telemetry/log.ts';

/** The revoked login sessions, whose access tokens must be refused before they expire. */
export interface Revocations {
  /**
   * Revokes a login session of the owner in `tx`. This process refuses the session from the commit
   * on, and every other process within 5 s.
   */
  revoke(tx: Tx, owner: Owner, sessionId: string): Promise<void>;
  /**
   * Resolves with whether a session is revoked. Resolves with false if `sessionId` is undefined,
   * since tokens of other issuers may name no session. Throws database_unavailable if the last
   * successful poll is older than 5 s and a new poll fails.
   */
  isRevoked(sessionId: string | undefined): Promise<boolean>;
  /** Stops polling, and waits for the poll in progress. */
  stop(): Promise<void>;
}

const pollEveryMs = 2_000;
const staleAfterMs = 5_000;
/**
 * Timeout of a poll in milliseconds: shorter than `staleAfterMs`, so that its result is not stale
 * yet.
 */
const pollTimeoutMs = 4_000;

interface RevocationsOptions {
  readonly db: Database;
  readonly log: Log;
}

/**
 * Starts polling Postgres for sessions that other processes revoked, until stopped. No token of
 * the vault is accepted before the first poll (docs/adr/0005).
 */
export function startRevocations({ db, log }: RevocationsOptions): Revocations {
  /** The ids of revoked sessions, and when each was last found revoked. */
  let revoked: ReadonlyMap<string, number> = new Map();
  let knownAt = -Infinity;
  let polling: Promise<void> | undefined;

  async function poll(): Promise<void> {
    const startedAt = performance.now();
    const ids = await withinTimeout(findRevoked(db));
    // Keep the revocations that this process committed after the poll began, since the poll may
    // have missed them.
    const since = [...revoked].filter(([, at]) => at >= startedAt);
    revoked = new Map([...ids.map((id) => [id, startedAt] as const), ...since]);
    knownAt = startedAt;
  }

  /** Shares one poll among concurrent callers. */
  function pollOnce(): Promise<void> {
    polling ??= poll().finally(() => {
      polling = undefined;
    });
    return polling;
  }

  const repeating = repeat(pollEveryMs, pollOnce, (error) =>
    log.warn({ err: error }, 'polling for revoked sessions failed'),
  );
  repeating.now();
  return {
    async revoke(tx, { userId, tenantId }, sessionId) {
      await tx
        .updateTable('login_sessions')
        .set({ revoked_at: sql`now()` })
        .where('id', '=', sessionId)
        .where('user_id', '=', userId)
        .where('tenant_id', '=', tenantId)
        .execute();
      afterCommit(tx, () => {
        revoked = new Map([...revoked, [sessionId, performance.now()]]);
      });
    },
    async isRevoked(sessionId) {
      if (sessionId === undefined) return false;
      // Check again after a poll: if the process was paused during the poll, its result is already
      // stale.
      while (performance.now() - knownAt > staleAfterMs) {
        try {
          await pollOnce();
        } catch (cause) {
          throw new AppError('database_unavailable', { cause });
        }
      }
      return revoked.has(sessionId);
    },
    stop: () => repeating.stop(),
  };
}

/**
 * Finds the sessions revoked in the last 20 minutes: the 15 minutes for which an access token is
 * valid, and a margin for long transactions and clocks that differ. Every poll reads the whole
 * window, so that late commits are not missed.
 */
async function findRevoked(db: Database): Promise<string[]> {
  const rows = await db.asService((tx) =>
    tx
      .selectFrom('login_sessions')
      .select('id')
      .where('revoked_at', '>', sql<Date>`now() - interval '20 minutes'`)
      .execute(),
  );
  return rows.map(({ id }) => id);
}

/**
 * Settles as `result` does, or rejects with database_unavailable at the timeout, so that a hung
 * connection does not block later polls.
 */
async function withinTimeout<T>(result: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new AppError('database_unavailable')), pollTimeoutMs);
  try {
    return await Promise.race([result, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}
