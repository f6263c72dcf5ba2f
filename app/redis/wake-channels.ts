import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { duplicateRedis } from './redis.ts';

/** Milliseconds between two messages of a channel: a message costs more than a name in it. */
const pauseMs = 10;

interface WakeListener {
  /** Called when another process has told a name. */
  readonly onTold: (name: string) => void;
  /** Called each time the subscription is established. Earlier messages may have been missed. */
  readonly onSubscribed?: () => void;
}

export interface WakeChannel {
  /** Tells the other processes a name without spaces. Returns at once and never throws. */
  tell(name: string): void;
}

export type WakeChannels = ReturnType<typeof openWakeChannels>;

/**
 * Opens the channels through which processes wake each other, with one connection to Redis for the
 * whole process. Messages may be lost: whoever misses one finds out at a later check.
 */
export function openWakeChannels(redis: Redis) {
  const ownId = randomUUID();
  const listeners = new Map<string, WakeListener>();
  const subscriber = duplicateRedis(redis, { autoResubscribe: false });
  // Ignore errors of this connection, since the connection `redis` logs the same errors.
  subscriber.on('error', () => undefined);
  subscriber.on('ready', () => {
    for (const channel of listeners.keys()) void subscribe(channel);
  });
  subscriber.on('message', (channel, message: string) => {
    const [teller, ...names] = message.split(' ');
    if (teller === ownId) return;
    for (const name of names) listeners.get(channel)?.onTold(name);
  });

  async function subscribe(channel: string): Promise<void> {
    try {
      await subscriber.subscribe(channel);
      listeners.get(channel)?.onSubscribed?.();
    } catch {
      subscriber.disconnect(true);
    }
  }

  return {
    /** Opens a channel, which may be opened once. */
    open(channel: string, listener: WakeListener): WakeChannel {
      const untold = new Set<string>();
      let telling = false;
      listeners.set(channel, listener);
      if (subscriber.status === 'ready') void subscribe(channel);

      /**
       * Publishes a message at once, and further ones after a pause each, with all names that are
       * told meanwhile.
       */
      async function tellAll(): Promise<void> {
        telling = true;
        while (untold.size > 0) {
          const message = [ownId, ...untold].join(' ');
          untold.clear();
          await redis.publish(channel, message).catch(() => undefined);
          await delay(pauseMs, undefined, { ref: false });
        }
        telling = false;
      }

      return {
        tell(name) {
          untold.add(name);
          if (!telling) void tellAll();
        },
      };
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
