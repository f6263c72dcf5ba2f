import type { Redis } from 'ioredis';
import type { Clock } from '../async/clock.ts';

interface CacheHealth {
  readonly status: 'ok' | 'error';
  readonly connected: boolean;
  readonly tlsEnabled: boolean;
  readonly authEnabled: boolean;
  readonly memoryUsage: { readonly used: string | null; readonly peak: string | null };
}

interface LastCacheStatus {
  readonly status: 'ok' | 'error' | 'unknown';
  readonly connected: boolean;
  readonly checkedAt: Date | null;
}

export type CacheProbe = ReturnType<typeof createCacheProbe>;

/** Creates the service that reports the health of Redis. */
export function createCacheProbe(redis: Redis, clock: Clock) {
  let last: LastCacheStatus = { status: 'unknown', connected: false, checkedAt: null };
  return {
    /** Checks the health of Redis now. */
    async ping(): Promise<CacheHealth> {
      const info = await redis.info('memory').catch(() => undefined);
      const connected = info !== undefined;
      const status = connected ? 'ok' : 'error';
      last = { status, connected, checkedAt: clock() };
      return {
        status,
        connected,
        tlsEnabled: redis.options.tls !== undefined,
        authEnabled: Boolean(redis.options.password),
        memoryUsage: {
          used: infoField(info, 'used_memory_human'),
          peak: infoField(info, 'used_memory_peak_human'),
        },
      };
    },

    /**
     * Returns the result of this process's last `ping`, with the status `unknown` before the first
     * `ping`.
     */
    last: (): LastCacheStatus => last,
  };
}

/** Returns a field of Redis's INFO text, or null where it is missing. */
export function infoField(info: string | undefined, name: string): string | null {
  return info === undefined
    ? null
    : (new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? null);
}
