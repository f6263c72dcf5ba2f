import type { Redis } from 'ioredis';
import { infoField } from '../../../health/cache.ts';
import { assertWritable, readInfo } from '../../../redis/redis.ts';
import { ok, warn, type Step, type Verdict } from '../steps/steps.ts';

const of = {
  what: 'Redis',
  address: 'REDIS_URL',
  credentials: 'the user and password in REDIS_URL',
  part: 'socket',
};

/** Examines Redis. Writes one key that expires after a second, as the health check does. */
export function redisSteps(redis: Redis): readonly Step[] {
  return [
    {
      name: 'redis.write',
      of,
      async run() {
        await assertWritable(redis);
        return ok('Redis accepts writes');
      },
    },
    { name: 'redis.eviction', needs: ['redis.write'], of, run: () => examineEviction(redis) },
    { name: 'redis.persistence', needs: ['redis.write'], of, run: () => examinePersistence(redis) },
  ];
}

async function examineEviction(redis: Redis): Promise<Verdict> {
  const info = await readInfo(redis, 'memory');
  const policy = infoField(info, 'maxmemory_policy');
  const isLimited = infoField(info, 'maxmemory') !== '0';
  if (policy === 'noeviction') return ok('Redis evicts no keys');
  return isLimited
    ? warn('Redis may evict logins and rate limits: set maxmemory-policy noeviction')
    : ok('Redis has no memory limit, so it evicts no keys');
}

async function examinePersistence(redis: Redis): Promise<Verdict> {
  const info = await readInfo(redis, 'persistence');
  const states = ['rdb_last_bgsave_status', 'aof_last_write_status', 'aof_last_bgrewrite_status'];
  if (states.some((name) => infoField(info, name) === 'err')) {
    return warn('Redis cannot write to its disk: see its log, and free space');
  }
  if (infoField(info, 'aof_enabled') === '1') return ok('Redis keeps its data (appendonly)');
  const schedule = await readSchedule(redis);
  if (schedule === undefined) {
    return ok('appendonly is off; this login may not read whether save is on');
  }
  return schedule === ''
    ? warn('a restart of Redis forgets rate limits and logins in progress: set appendonly yes')
    : ok('Redis keeps its data (save); a crash loses the newest');
}

/** Reads when Redis saves its data; '' for never, undefined if the login may not read it. */
async function readSchedule(redis: Redis): Promise<string | undefined> {
  const answer: unknown = await redis.config('GET', 'save').catch(() => undefined);
  const schedule: unknown = Array.isArray(answer) ? answer[1] : undefined;
  return typeof schedule === 'string' ? schedule : undefined;
}
