import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { duplicateRedis } from '../../redis/redis.ts';

interface WakeChannelOptions {
  readonly redis: Redis;
  /** Called when another process has announced a change of this user. */
  readonly onTold: (userId: string) => void;
  /**
   * Called each time the subscription is established. Earlier announcements may have been missed.
   */
  readonly onSubscribed: () => void;
}

const channel = 'sync-changes';

/**
 * Opens the channel through which processes wake each other's feeds, with one connection to Redis
 * for the whole process. Messages may be lost: a feed that misses a message finds the change at a
 * later check.
 */
export function openWakeChannel({ redis, onTold, onSubscribed }: WakeChannelOptions) {
  const ownId = randomUUID();
  const untold = new Set<string>();
  let telling = false;
  const subscriber = duplicateRedis(redis, { autoResubscribe: false });
  // Ignore errors of this connection, since the connection `redis` logs the same errors.
  subscriber.on('error', () => undefined);
  subscriber.on('ready', () => void subscribe());
  subscriber.on('message', (_channel, message: string) => {
    const [teller, ...userIds] = message.split(' ');
    if (teller !== ownId) for (const userId of userIds) onTold(userId);
  });

  async function subscribe(): Promise<void> {
    try {
      await subscriber.subscribe(channel);
      onSubscribed();
    } catch {
      subscriber.disconnect(true);
    }
  }

  /**
   * Publishes one message at a time. The next message names all users whose changes are announced
   * meanwhile.
   */
  async function tellAll(): Promise<void> {
    telling = true;
    while (untold.size > 0) {
      const message = [ownId, ...untold].join(' ');
      untold.clear();
      await redis.publish(channel, message).catch(() => undefined);
    }
    telling = false;
  }

  return {
    /** Announces a user's change to the other processes. Returns at once and never throws. */
    tell(userId: string): void {
      untold.add(userId);
      if (!telling) void tellAll();
    },
    /**
     * Checks whether the connection to Redis still works, and reconnects if the check fails. Never
     * rejects.
     */
    async probe(): Promise<void> {
      if (subscriber.status !== 'ready') return;
      await subscriber.ping().catch(() => subscriber.disconnect(true));
    },
    close(): void {
      subscriber.disconnect();
    },
  };
}
