import { z } from 'zod';
import { route, type Route } from '../http/routing/route.ts';
import { Timestamp } from '../http/bodies/wire.ts';
import type { CacheProbe } from './cache.ts';
import type { Health } from './health.ts';

const tag = 'Health';

const CheckResult = z.strictObject({
  status: z.enum(['ok', 'error']),
  latencyMs: z.int(),
  error: z.string().optional(),
});

const Report = z.strictObject({
  status: z.enum(['ok', 'degraded', 'error']),
  version: z.string(),
  checks: z.strictObject({
    database: CheckResult,
    cache: CheckResult,
    storage: CheckResult,
    queue: CheckResult,
    signer: CheckResult,
    jwks: CheckResult,
  }),
});

const State = z.strictObject({ status: z.enum(['ok', 'error']) });

const About = z.strictObject({ name: z.string(), version: z.string(), description: z.string() });

const Cache = z.strictObject({
  status: z.enum(['ok', 'error']),
  connected: z.boolean(),
  tlsEnabled: z.boolean(),
  authEnabled: z.boolean(),
  memoryUsage: z.strictObject({ used: z.string().nullable(), peak: z.string().nullable() }),
});

const LastCacheStatus = z.strictObject({
  status: z.enum(['ok', 'error', 'unknown']),
  connected: z.boolean(),
  checkedAt: Timestamp.nullable(),
});

interface HealthRoutesOptions {
  readonly health: Health;
  readonly cache: CacheProbe;
  readonly about: z.output<typeof About>;
}

export function createHealthRoutes({ health, cache, about }: HealthRoutesOptions): Route[] {
  const common = { method: 'get', tag, access: 'public', status: 200, errors: [] } as const;
  return [
    route({
      ...common,
      path: '/',
      summary: 'What this service is',
      response: About,
      handler: async () => about,
    }),
    route({
      ...common,
      path: '/health',
      summary: 'Every dependency; 503 when the database or the signer is away',
      response: Report,
      noStore: true,
      handler: async ({ reply }) => {
        const report = await health.report();
        if (report.status === 'error') reply.status(503);
        return { ...report, version: about.version };
      },
    }),
    route({
      ...common,
      path: '/health/live',
      summary: 'The process alone',
      response: State,
      noStore: true,
      handler: async () => ({ status: 'ok' as const }),
    }),
    route({
      ...common,
      path: '/health/ready',
      summary: 'Whether to send traffic here; 503 when not',
      response: State,
      noStore: true,
      handler: async ({ reply }) => {
        if (await health.isReady()) return { status: 'ok' as const };
        reply.status(503);
        return { status: 'error' as const };
      },
    }),
    route({
      ...common,
      path: '/v1/health/cache',
      summary: 'The cache, asked now',
      response: Cache,
      noStore: true,
      handler: () => cache.ping(),
    }),
    route({
      ...common,
      path: '/v1/health/cache/status',
      summary: 'The cache, as last seen',
      response: LastCacheStatus,
      noStore: true,
      handler: async () => cache.last(),
    }),
  ];
}
