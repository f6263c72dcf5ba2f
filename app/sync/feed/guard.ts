import type { Revocations } from '../../sessions/revocations.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import type { OpenFeed } from './open-feeds.ts';
import { findRevokedDevices } from '../../devices/revoked-devices.ts';

interface FeedGuardOptions {
  readonly feeds: () => ReadonlySet<OpenFeed>;
  readonly db: Database;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly log: Log;
}

const lookEveryMs = 1_000;
/** Feeds end when their sessions and devices could not be checked for this long. */
const staleAfterMs = 4_000;

/**
 * Starts to end feeds whose requests would now be refused: within a second after their token
 * expires, and within 5 s after their session or device was revoked, by whichever process.
 */
export function startFeedGuard({ feeds, db, revocations, clock, log }: FeedGuardOptions) {
  let knownAt = performance.now();

  async function endRevoked(): Promise<void> {
    const startedAt = performance.now();
    const looked = [...feeds()];
    for (const feed of looked) {
      if (await revocations.isRevoked(feed.sessionId)) feed.end('invalid_token');
    }
    // Revoking a device does not end the sessions of other issuers.
    if (looked.length > 0) {
      const revoked = await db.asService((tx) => findRevokedDevices(tx, looked));
      for (const feed of looked) if (revoked.has(feed)) feed.end('device_blacklisted');
    }
    knownAt = startedAt;
  }

  /** Ends feeds without a query, since Postgres may hang. */
  function endExpired(): void {
    const now = clock();
    const isStale = performance.now() - knownAt > staleAfterMs;
    for (const feed of feeds()) {
      if (feed.expiresAt <= now) feed.end('token_expired');
      if (isStale) feed.end('database_unavailable');
    }
  }

  const looking = repeat(lookEveryMs, endRevoked, (error) =>
    log.warn({ err: error }, 'the sessions and devices of open change feeds could not be checked'),
  );
  const timer = setInterval(endExpired, lookEveryMs);
  return {
    async stop() {
      clearInterval(timer);
      await looking.stop();
    },
  };
}
