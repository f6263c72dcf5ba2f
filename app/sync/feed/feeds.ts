import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Revocations } from '../../sessions/revocations.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database } from '../../db/database.ts';
import type { DeviceCaller, DeviceGuard } from '../../devices/guard.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Listener } from '../../http/answers/event-stream.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import { isSame, startAfter, type Cursor } from '../objects/cursor.ts';
import { createChanges } from './changes.ts';
import type { EndReason } from './events.ts';
import { createFeed } from './feed.ts';
import { startFeedGuard } from './guard.ts';
import { createOpenFeeds } from './open-feeds.ts';
import { createFeedSlots } from './slots.ts';
import { openWakeChannel } from './wake-channel.ts';

/** The change feeds of this process. */
export interface ChangeFeeds {
  /**
   * What changes after a cursor, from now on without one; all there is after a cursor that this
   * history never gave out. Throws too_many_feeds, shutting_down, or as DeviceGuard does.
   */
  open(subscription: Subscription, listener: Listener): Promise<AsyncIterable<string>>;
  /** A change of this user has been committed. Neither waits nor throws. */
  changed(userId: string): void;
  count(): number;
  /** Ends every feed and opens no other. */
  drain(): void;
  /** To be called after `drain`. */
  stop(): Promise<void>;
}

interface Subscription extends DeviceCaller {
  readonly since: Cursor | undefined;
}

interface ChangeFeedsOptions {
  readonly db: Database;
  readonly redis: Redis;
  readonly revocations: Revocations;
  readonly deviceGuard: DeviceGuard;
  readonly clock: Clock;
  readonly log: Log;
}

/** Without a message that there is news: what was lost is found by then. */
const lookForNewsEveryMs = 15_000;
const renewEveryMs = 10_000;

/** Starts listening for what other processes write, until stopped (docs/adr/0011). */
export function startChangeFeeds(options: ChangeFeedsOptions): ChangeFeeds {
  const { redis, log } = options;
  const changes = createChanges(options);
  const slots = createFeedSlots({ redis });
  const open = createOpenFeeds();
  const guard = startFeedGuard({ ...options, feeds: open.all });
  let isDraining = false;

  /** Wakes those who have missed something. One query for all users. */
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
    log.warn({ err: error }, 'changes for open feeds could not be looked up'),
  );
  const channel = openWakeChannel({
    redis,
    onTold: open.wake,
    onSubscribed: lookingForNews.now,
  });
  const renewing = repeat(renewEveryMs, async () => {
    await Promise.all([slots.renew(open.all()), channel.probe()]);
  });

  /** The newest change, unless the listener is gone by then. */
  async function newestFor(reader: DeviceCaller, { gone }: Listener): Promise<Cursor> {
    const newest = await changes.newest(reader);
    gone.throwIfAborted();
    return newest;
  }

  function explain(error: unknown): EndReason {
    if (error instanceof AppError && error.code === 'database_unavailable') return error.code;
    log.error({ err: error }, 'a change feed could not be read');
    return 'internal_error';
  }

  return {
    async open({ since, ...reader }, listener) {
      if (isDraining) throw new AppError('shutting_down');
      const { caller, deviceId } = reader;
      const { userId, tenantId, sessionId, expiresAt } = caller;
      const holder = { id: randomUUID(), userId };
      await slots.take(holder);
      const newest = await newestFor(reader, listener).catch((error: unknown) => {
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
    },
    changed(userId) {
      open.wake(userId);
      channel.tell(userId);
    },
    count: () => open.all().size,
    drain() {
      isDraining = true;
      for (const feed of open.all()) feed.end('shutting_down');
    },
    async stop() {
      channel.close();
      await Promise.all([guard.stop(), lookingForNews.stop(), renewing.stop()]);
    },
  };
}
