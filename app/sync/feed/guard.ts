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
/**
 * Milliseconds without a successful check of sessions and devices after which all feeds are ended.
 */
const staleAfterMs = 4_000;

/**
 * Starts a background worker that ends feeds whose user has lost access: within 1 s after the
 * access token expires, and within 5 s after any process revokes the session or the device.
 */
export function startFeedGuard({ feeds, db, revocations, clock, log }: FeedGuardOptions) {
  let knownAt = performance.now();

  async function endRevoked(): Promise<void> {
    const startedAt = performance.now();
    const looked = [...feeds()];
    for (const feed of looked) {
      if (await revocations.isRevoked(feed.sessionId)) feed.end('invalid_token');
    }
    // Check the devices too: revoking a device does not end the sessions of other issuers.
    if (looked.length > 0) {
      const revoked = await db.asService((tx) => findRevokedDevices(tx, looked));
      for (const feed of looked) if (revoked.has(feed)) feed.end('device_blacklisted');
    }
    knownAt = startedAt;
  }

  /**
   * Ends the feeds whose access token has expired, and all feeds if the last successful check is
   * too old. Runs no query, since Postgres may hang.
   */
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
