import { sql } from 'kysely';
import { afterCommit, type Database, type Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import { repeat } from '../async/repeat.ts';
import type { Log } from '../telemetry/log.ts';

/** The login sessions whose access tokens still live although they were revoked. */
export interface Revocations {
  /** Ends a session in `tx`: here from the commit on, in every other process within 5 s. */
  revoke(tx: Tx, sessionId: string): Promise<void>;
  /**
   * False for none: tokens of other issuers may name no session. Throws database_unavailable where what
   * this process knows is older than 5 s.
   */
  isRevoked(sessionId: string | undefined): Promise<boolean>;
  /** Finishes the look under way. */
  stop(): Promise<void>;
}

const lookEveryMs = 2_000;
const staleAfterMs = 5_000;
/** What a look brings is new enough even then. */
const lookLimitMs = 4_000;

interface RevocationsOptions {
  readonly db: Database;
  readonly log: Log;
}

/**
 * Starts looking in Postgres for what other processes revoked, until stopped. Nobody is let in
 * before the first look (docs/adr/0005).
 */
export function startRevocations({ db, log }: RevocationsOptions): Revocations {
  /** Ids, and when they were last known to be revoked. */
  let revoked: ReadonlyMap<string, number> = new Map();
  let knownAt = -Infinity;
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    const startedAt = performance.now();
    const ids = await withinLimit(findRevoked(db));
    // Postgres cannot have told of what was committed here in the meantime.
    const since = [...revoked].filter(([, at]) => at >= startedAt);
    revoked = new Map([...ids.map((id) => [id, startedAt] as const), ...since]);
    knownAt = startedAt;
  }

  function lookOnce(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  const repeating = repeat(lookEveryMs, lookOnce, (error) =>
    log.warn({ err: error }, 'revoked sessions could not be looked up'),
  );
  repeating.now();
  return {
    async revoke(tx, sessionId) {
      await tx
        .updateTable('login_sessions')
        .set({ revoked_at: sql`now()` })
        .where('id', '=', sessionId)
        .execute();
      afterCommit(tx, () => {
        revoked = new Map([...revoked, [sessionId, performance.now()]]);
      });
    },
    async isRevoked(sessionId) {
      if (sessionId === undefined) return false;
      // A look that was under way as the process was paused brings what is too old.
      while (performance.now() - knownAt > staleAfterMs) {
        try {
          await lookOnce();
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
 * The whole window each time, so that late commits are not missed: an access token's 15 minutes, and
 * room for transactions that last and clocks that differ.
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

/** A connection that hangs must not keep the next look from using another. */
async function withinLimit<T>(answer: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new AppError('database_unavailable')), lookLimitMs);
  try {
    return await Promise.race([answer, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}
