import type { Redis } from 'ioredis';
import { AppError } from '../../errors/app-error.ts';

/** Whose feed it is. */
interface Holder {
  readonly id: string;
  readonly userId: string;
}

/**
 * How many feeds a user may have open: `perUser` across all processes by leases in Redis, so that those
 * of a dead process free themselves. While Redis is away, in each process.
 */
interface FeedSlots {
  /** Throws too_many_feeds. */
  take(holder: Holder): Promise<void>;
  release(holder: Holder): void;
  /** Keeps the leases; to be called well within `leaseMs`. Never rejects. */
  renew(holders: Iterable<Holder>): Promise<void>;
}

const perUser = 10;
const leaseMs = 30_000;

/**
 * Gives ARGV[1] a lease of ARGV[2] ms unless it has none and as many as ARGV[3] others do. By the clock
 * of Redis: those of the processes differ.
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

export function createFeedSlots({ redis }: { readonly redis: Redis }): FeedSlots {
  /** Of this process, by user. */
  const held = new Map<string, Set<string>>();

  function hold({ id, userId }: Holder): void {
    const own = held.get(userId) ?? new Set();
    if (own.size >= perUser) throw tooMany();
    held.set(userId, own.add(id));
  }

  function letGo({ id, userId }: Holder): void {
    const own = held.get(userId);
    own?.delete(id);
    if (own?.size === 0) held.delete(userId);
  }

  return {
    async take(holder) {
      hold(holder);
      const { id, userId } = holder;
      const lease = redis.eval(leaseScript, 1, keyOf(userId), id, leaseMs, perUser);
      const isLeased = await lease.catch(() => undefined);
      if (isLeased !== 0) return;
      letGo(holder);
      throw tooMany();
    },

    release(holder) {
      letGo(holder);
      // Where it fails the lease ends by itself.
      redis.zrem(keyOf(holder.userId), holder.id).catch(() => undefined);
    },

    async renew(holders) {
      if (redis.status !== 'ready') return;
      const pipeline = redis.pipeline();
      for (const { id, userId } of holders) {
        // A feed that is open keeps its slot, also where Redis has forgotten it.
        pipeline.eval(leaseScript, 1, keyOf(userId), id, leaseMs, Number.MAX_SAFE_INTEGER);
      }
      await pipeline.exec().catch(() => undefined);
    },
  };
}

function keyOf(userId: string): string {
  return `sync-feeds:${userId}`;
}

function tooMany(): AppError {
  return new AppError('too_many_feeds', { retryAfterSeconds: leaseMs / 1000 });
}
