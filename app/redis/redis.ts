import { Redis, type RedisOptions } from 'ioredis';
import { valueOf, type Secret } from '../secrets/secret.ts';
import type { Log } from '../telemetry/log.ts';

/** The URL of each client, so that copies of it ask for the present password too. */
const urls = new WeakMap<Redis, Secret>();
/** Why a client is not connected, for commands that fail because of it. */
const lastErrors = new WeakMap<Redis, Error>();

/**
 * Opens the connection to Redis. User and password are those of the URL at the time of each
 * connection. While Redis cannot be reached, commands fail within about two
 * seconds instead of waiting, so that callers can respond with 503. The client reconnects by
 * itself.
 */
export function connectRedis(url: Secret, log: Log): Redis {
  const redis = new Redis(valueOf(url), {
    commandTimeout: 2_000,
    connectTimeout: 2_000,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: true,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    // After a failover the host name resolves to the new primary, so reconnect.
    reconnectOnError: ({ message }) => message.startsWith('READONLY'),
  });
  followLogin(redis, url);
  redis.on('error', (error: Error) => {
    const isKnown = error.message === lastErrors.get(redis)?.message;
    lastErrors.set(redis, error);
    if (!isKnown) log.warn({ err: error }, 'Redis is unavailable');
  });
  redis.on('ready', () => {
    lastErrors.delete(redis);
  });
  return redis;
}

/**
 * Opens another connection to the Redis of a client, with options that differ from its own. The
 * connections that a library makes of the copy, by its `duplicate`, ask for the present password
 * too.
 */
export function duplicateRedis(redis: Redis, options: Partial<RedisOptions>): Redis {
  const copy = redis.duplicate(options);
  const url = urls.get(redis);
  if (url === undefined) return copy;
  followLogin(copy, url);
  const duplicate = copy.duplicate.bind(copy);
  copy.duplicate = (more) => {
    const another = duplicate(more);
    followLogin(another, url);
    return another;
  };
  return copy;
}

/** Sets user and password anew before each further connection of a client. */
function followLogin(redis: Redis, url: Secret): void {
  urls.set(redis, url);
  redis.on('reconnecting', () => {
    const { username, password } = new URL(valueOf(url));
    redis.options.username = decodeURIComponent(username);
    redis.options.password = decodeURIComponent(password);
  });
}

/**
 * Throws unless Redis accepts a write. A ping does not suffice, since replicas and full servers
 * respond to it.
 */
export async function assertWritable(redis: Redis): Promise<void> {
  await explained(redis, redis.set('writable', '', 'PX', 1_000));
}

/** Reads a section of Redis's INFO text. */
export function readInfo(redis: Redis, section: string): Promise<string> {
  return explained(redis, redis.info(section));
}

/** Adds to the error of a command why the client is not connected, which the error lacks. */
async function explained<T>(redis: Redis, command: Promise<T>): Promise<T> {
  try {
    return await command;
  } catch (cause) {
    const reason = lastErrors.get(redis);
    throw new AggregateError(reason === undefined ? [] : [reason], 'Redis failed', { cause });
  }
}
