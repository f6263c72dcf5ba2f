import type { Redis } from 'ioredis';

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

export interface CacheProbe {
  /** Asks Redis now. */
  ping(): Promise<CacheHealth>;
  /** What the last ping said. */
  last(): LastCacheStatus;
}

export function createCacheProbe(redis: Redis, clock: () => Date): CacheProbe {
  let last: LastCacheStatus = { status: 'unknown', connected: false, checkedAt: null };
  return {
    async ping() {
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
    last: () => last,
  };
}

/** A field of Redis's INFO text; null where it is missing. */
export function infoField(info: string | undefined, name: string): string | null {
  return info === undefined
    ? null
    : (new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? null);
}
