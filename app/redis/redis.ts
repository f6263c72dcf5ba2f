import { Redis } from 'ioredis';
import type { Log } from '../telemetry/log.ts';

/**
 * The one connection to Redis. Commands fail within a second or so while Redis is away instead of
 * waiting for it, so that callers can answer 503; the connection comes back by itself.
 */
export function connectRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    commandTimeout: 2_000,
    connectTimeout: 2_000,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: true,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    // Where the primary has moved, its name leads to the new one.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });
  let lastMessage = '';
  redis.on('error', (error: Error) => {
    if (error.message === lastMessage) return;
    lastMessage = error.message;
    log.warn({ err: error }, 'redis is away');
  });
  redis.on('ready', () => {
    lastMessage = '';
  });
  return redis;
}

/** Throws unless Redis takes a write: as a replica, or full, it answers a ping all the same. */
export async function assertWritable(redis: Redis): Promise<void> {
  await redis.set('writable', '', 'PX', 1_000);
}
