import type { Redis } from 'ioredis';
import { AppError } from '../../errors/app-error.ts';

/** An event stream and its user. */
interface Holder {
  readonly id: string;
  readonly userId: string;
}

/** Number of event streams of a kind that a user may have open, across all processes. */
export const streamsPerUser = 10;
const leaseMs = 30_000;

/**
 * Creates or renews the lease of the stream ARGV[1] for ARGV[2] ms, and returns 1. If the stream
 * has no lease and ARGV[3] other streams have a lease, returns 0 instead. Uses the clock of Redis,
 * since the clocks of the processes differ.
 */
const leaseScript = `
local now = redis.call('time')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('zremrangebyscore', KEYS[1], '-inf', ms)
local isNew = not redis.call('zscore', KEYS[1], ARGV[1])
if isNew and redis.call('zcard', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('zadd', KEYS[1], ms + ARGV[2], ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2])
return 1
`;

interface StreamSlotsOptions {
  readonly redis: Redis;
  /** Kind of the streams, such as `sync-feeds`. */
  readonly kind: string;
}

/**
 * Limits the open event streams of a kind to `streamsPerUser` for each user across all processes,
 * by leases in Redis, so that the slots of a dead process become free. While Redis is unavailable,
 * the limit applies to each process separately.
 */
export function createStreamSlots({ redis, kind }: StreamSlotsOptions) {
  const keyOf = (userId: string) => `${kind}:${userId}`;
  /** The ids of this process's streams, by user. */
  const held = new Map<string, Set<string>>();

  function hold({ id, userId }: Holder): void {
    const own = held.get(userId) ?? new Set();
    if (own.size >= streamsPerUser) throw tooMany();
    held.set(userId, own.add(id));
  }

  function letGo({ id, userId }: Holder): void {
    const own = held.get(userId);
    own?.delete(id);
    if (own?.size === 0) held.delete(userId);
  }

  return {
    /**
     * Acquires a slot for a stream. Throws too_many_feeds if the user has the maximum number of
     * streams.
     */
    async take(holder: Holder): Promise<void> {
      hold(holder);
      const { id, userId } = holder;
      const lease = redis.eval(leaseScript, 1, keyOf(userId), id, leaseMs, streamsPerUser);
      const isLeased = await lease.catch(() => undefined);
      if (isLeased !== 0) return;
      letGo(holder);
      throw tooMany();
    },

    /** Releases the slot of a stream. */
    release(holder: Holder): void {
      letGo(holder);
      // If the removal fails, the lease expires by itself.
      redis.zrem(keyOf(holder.userId), holder.id).catch(() => undefined);
    },

    /**
     * Renews the leases of streams. Call it more often than every `leaseMs` milliseconds. Never
     * rejects.
     */
    async renew(holders: Iterable<Holder>): Promise<void> {
      if (redis.status !== 'ready') return;
      const pipeline = redis.pipeline();
      for (const { id, userId } of holders) {
        // An open stream keeps its slot, even if Redis has lost the lease.
        pipeline.eval(leaseScript, 1, keyOf(userId), id, leaseMs, Number.MAX_SAFE_INTEGER);
      }
      await pipeline.exec().catch(() => undefined);
    },
  };
}

function tooMany(): AppError {
  return new AppError('too_many_feeds', { retryAfterSeconds: leaseMs / 1000 });
}
