import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { Redis } from 'ioredis';
import { AppError } from '../../app/errors/app-error.ts';
import {
  createRateLimits,
  limitNames,
  type LimitName,
  type RateLimits,
  type Rates,
} from '../../app/limits/rate-limits.ts';
import type { Rate } from '../../app/limits/rate.ts';
import { connectRedis } from '../../app/redis/redis.ts';
import { createLog } from '../../app/telemetry/log.ts';

export interface Replica {
  readonly limits: RateLimits;
  readonly redis: Redis;
  readonly logLines: readonly string[];
}

/**
 * Creates limits as one process of the app has them, with a connection of its own, all at `rate`.
 */
export function startReplica(
  t: Pick<ExecutionContext, 'teardown'>,
  redisUrl: string,
  rate: Rate | undefined,
  otherRates: Partial<Rates> = {},
): Replica {
  const logLines: string[] = [];
  const log = createLog('info', { write: (line) => void logLines.push(line) });
  const redis = connectRedis(redisUrl, log);
  t.teardown(() => redis.disconnect());
  const rates = {
    ...(Object.fromEntries(limitNames.map((name) => [name, rate])) as Rates),
    ...otherRates,
  };
  return {
    limits: createRateLimits({ redis, rates, onRefused: () => undefined, log }),
    redis,
    logLines,
  };
}

/**
 * Resolves with the refusal of a use, or undefined. Rejects with errors other than rate_limited.
 */
export async function refusal(use: Promise<unknown>): Promise<AppError | undefined> {
  try {
    await use;
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.code === 'rate_limited') return error;
    throw error;
  }
}

/** Returns how many of `times` concurrent uses are admitted. */
export async function admitted(
  limits: RateLimits,
  name: LimitName,
  key: string,
  times: number,
): Promise<number> {
  const uses = Array.from({ length: times }, () => refusal(limits.consume(name, key)));
  return (await Promise.all(uses)).filter((refused) => refused === undefined).length;
}

/** Returns a random IPv6 client address in a network of its own. */
export function someClientAddress(): string {
  const groups = randomBytes(12).toString('hex').match(/.{4}/g) ?? [];
  return `2001:db8:${groups.join(':')}`;
}
