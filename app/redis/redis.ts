import { Redis } from 'ioredis';
import type { Log } from '../telemetry/log.ts';

/**
 * Opens the connection to Redis. While Redis cannot be reached, commands fail within about two
 * seconds instead of waiting, so that callers can respond with 503. The client reconnects by
 * itself.
 */
export function connectRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    commandTimeout: 2_000,
    connectTimeout: 2_000,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: true,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    // After a failover the host name resolves to the new primary, so reconnect.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });
  let lastMessage = '';
  redis.on('error', (error: Error) => {
    if (error.message === lastMessage) return;
    lastMessage = error.message;
    log.warn({ err: error }, 'Redis is unavailable');
  });
  redis.on('ready', () => {
    lastMessage = '';
  });
  return redis;
}

/**
 * Throws unless Redis accepts a write. A ping does not suffice, since replicas and full servers
 * respond to it.
 */
export async function assertWritable(redis: Redis): Promise<void> {
  await redis.set('writable', '', 'PX', 1_000);
}
