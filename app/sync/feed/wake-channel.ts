import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

/** Wakes the feeds of other processes through Redis. A message may be lost: then they find out later. */
interface WakeChannel {
  /** Neither waits nor throws. */
  tell(userId: string): void;
  /** Finds out whether the subscription still stands, and mends it. Never rejects. */
  probe(): Promise<void>;
  close(): void;
}

interface WakeChannelOptions {
  readonly redis: Redis;
  /** Another process has told of this user. */
  readonly onTold: (userId: string) => void;
  /** From now on nothing is missed; what was told before may have been. */
  readonly onSubscribed: () => void;
}

const channel = 'sync-changes';

/** Subscribes by a connection of its own, one for the whole process. */
export function openWakeChannel({ redis, onTold, onSubscribed }: WakeChannelOptions): WakeChannel {
  const ownId = randomUUID();
  const untold = new Set<string>();
  let telling = false;
  const subscriber = redis.duplicate({ autoResubscribe: false });
  // The other connection logs it.
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

  /** One message at a time: those who wrote in the meantime are told of in the next. */
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
    tell(userId) {
      untold.add(userId);
      if (!telling) void tellAll();
    },
    async probe() {
      if (subscriber.status !== 'ready') return;
      await subscriber.ping().catch(() => subscriber.disconnect(true));
    },
    close() {
      subscriber.disconnect();
    },
  };
}
