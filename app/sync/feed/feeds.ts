import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Revocations } from '../../sessions/revocations.ts';
import { startStreamGuard } from '../../sessions/streams/stream-guard.ts';
import { createStreamSlots } from '../../sessions/streams/stream-slots.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import type { DeviceGuard } from '../../devices/guard.ts';
import { findRevokedDevices } from '../../devices/revoked-devices.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Listener } from '../../http/responses/event-stream.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import type { WakeChannels } from '../../redis/wake-channels.ts';
import { isSame, startAfter, type Cursor } from '../objects/cursor.ts';
import { createChanges } from './changes.ts';
import type { EndReason } from './events.ts';
import { createFeed } from './feed.ts';
import { createOpenFeeds, type OpenFeed } from './open-feeds.ts';

interface Subscription {
  readonly deviceId: string;
  /** The cursor after which the feed begins; undefined for the newest change. */
  readonly since: Cursor | undefined;
}

interface ChangeFeedsOptions {
  readonly db: Database;
  readonly redis: Redis;
  readonly wakes: WakeChannels;
  readonly revocations: Revocations;
  readonly deviceGuard: DeviceGuard;
  readonly clock: Clock;
  readonly log: Log;
}

/** Milliseconds between two checks for changes whose wake-up message was lost. */
const lookForNewsEveryMs = 15_000;
const renewEveryMs = 10_000;

export type ChangeFeeds = ReturnType<typeof startChangeFeeds>;

/**
 * Starts the change feeds of this process. Redis notifies the feeds of writes in other processes
 * (docs/adr/0011).
 */
export function startChangeFeeds(options: ChangeFeedsOptions) {
  const { db, redis, wakes, log } = options;
  const changes = createChanges(options);
  const slots = createStreamSlots({ redis, kind: 'sync-feeds' });
  const open = createOpenFeeds();
  const guard = startStreamGuard({ ...options, streams: open.all, endOthers: endRevoked });
  let isDraining = false;

  /** Ends the feeds of revoked devices, whose sessions may go on at another issuer. */
  async function endRevoked(feeds: readonly OpenFeed[]): Promise<void> {
    const revoked = await db.asService((tx) => findRevokedDevices(tx, feeds));
    for (const feed of feeds) if (revoked.has(feed)) feed.end('device_blacklisted');
  }

  /** Wakes the feeds that have missed a change, with one query for all users. */
  async function lookForNews(): Promise<void> {
    const userIds = open.userIds();
    if (userIds.length === 0) return;
    for (const { userId, tenantId, newest } of await changes.newestOf(userIds)) {
      for (const feed of open.of(userId)) {
        if (feed.tenantId === tenantId && !isSame(feed.cursor(), newest)) feed.wake();
      }
    }
  }

  const lookingForNews = repeat(lookForNewsEveryMs, lookForNews, (error) =>
    log.warn({ err: error }, 'change feeds could not check for missed changes; retrying'),
  );
  const channel = wakes.open('sync-changes', {
    onTold: open.wake,
    onSubscribed: lookingForNews.now,
  });
  const renewing = repeat(renewEveryMs, async () => {
    await Promise.all([slots.renew(open.all()), wakes.probe()]);
  });

  /**
   * Returns the cursor of the caller's newest change. Throws client_gone if the client has
   * disconnected meanwhile.
   */
  async function newestFor(
    request: ServiceRequest,
    deviceId: string,
    { gone }: Listener,
  ): Promise<Cursor> {
    const newest = await changes.newest(request, deviceId);
    gone.throwIfAborted();
    return newest;
  }

  function explain(error: unknown): EndReason {
    if (error instanceof AppError && error.code === 'database_unavailable') return error.code;
    log.error({ err: error }, 'a change feed could not be read');
    return 'internal_error';
  }

  async function openFeed(
    request: ServiceRequest,
    { deviceId, since }: Subscription,
    listener: Listener,
  ): Promise<AsyncIterable<string>> {
    if (isDraining) throw new AppError('shutting_down');
    const { caller } = request;
    const { userId, tenantId, sessionId, expiresAt } = caller;
    const holder = { id: randomUUID(), userId };
    await slots.take(holder);
    const newest = await newestFor(request, deviceId, listener).catch((error: unknown) => {
      slots.release(holder);
      throw error;
    });
    listener.gone.addEventListener('abort', () => slots.release(holder), { once: true });
    const feed = createFeed({
      cursor: since === undefined ? newest : startAfter(since, newest),
      listener,
      readAfter: (cursor) => changes.after(caller, cursor),
      explain,
    });
    open.add({ ...feed, ...holder, tenantId, sessionId, deviceId, expiresAt }, listener.gone);
    if (isDraining) feed.end('shutting_down');
    return feed.events;
  }

  return {
    /**
     * Opens a feed of the changes after the cursor `since`, or of the changes from now on if
     * `since` is undefined. If this history never issued the cursor, the feed contains all changes.
     * Throws too_many_feeds or shutting_down, and as DeviceGuard does.
     */
    open: openFeed,

    /**
     * Wakes the user's feeds in all processes. Call it after a change was committed. Returns at
     * once and never throws.
     */
    changed(userId: string): void {
      open.wake(userId);
      channel.tell(userId);
    },

    /** Returns the number of open feeds. */
    count: (): number => open.all().size,

    /** Ends every feed and refuses new ones. */
    drain(): void {
      isDraining = true;
      for (const feed of open.all()) feed.end('shutting_down');
    },

    /** Stops the background workers of the feeds. Call it after `drain`. */
    async stop(): Promise<void> {
      await Promise.all([guard.stop(), lookingForNews.stop(), renewing.stop()]);
    },
  };
}
