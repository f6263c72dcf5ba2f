import { z } from 'zod';
import { Timestamp } from '../http/bodies/wire.ts';
import { routeFor } from '../http/routing/route.ts';
import type { CacheProbe } from './cache.ts';
import type { Health } from './health.ts';

const tag = 'Health';

const CheckResult = z.strictObject({
  status: z.enum(['ok', 'error']),
  latencyMs: z.int(),
  error: z.string().optional().meta({
    description: 'A code: a class of failures, or a condition of this check (docs/health.md).',
  }),
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

interface HealthServices {
  readonly health: Health;
  readonly cache: CacheProbe;
  readonly about: z.output<typeof About>;
}

const route = routeFor<HealthServices>();

const common = { method: 'get', tag, access: 'public', status: 200, errors: [] } as const;
/** Probes may add query parameters of their own. */
const open = { ...common, ignoresQuery: true } as const;
const probed = { ...open, isProbe: true } as const;

export const healthRoutes = [
  route({
    ...open,
    path: '/',
    summary: 'Returns the name, version and description of this service',
    response: About,
    handler: async ({ about }) => about,
  }),
  route({
    ...probed,
    path: '/health',
    summary: 'Checks every dependency; 503 when the database or the signer is unavailable',
    response: Report,
    noStore: true,
    handler: async ({ health, about }, { reply }) => {
      const report = await health.report();
      if (report.status === 'error') reply.status(503);
      return { ...report, version: about.version };
    },
  }),
  route({
    ...probed,
    path: '/health/live',
    summary: 'Returns ok while the process runs, whatever its dependencies do',
    response: State,
    noStore: true,
    handler: async () => ({ status: 'ok' as const }),
  }),
  route({
    ...probed,
    path: '/health/ready',
    summary: 'Tells within half a second whether this process can take traffic; 503 if not',
    response: State,
    noStore: true,
    handler: async ({ health }, { reply }) => {
      if (await health.isReady()) return { status: 'ok' as const };
      reply.status(503);
      return { status: 'error' as const };
    },
  }),
  route({
    ...common,
    path: '/v1/health/cache',
    summary: 'Checks the cache now',
    response: Cache,
    noStore: true,
    handler: ({ cache }) => cache.ping(),
  }),
  route({
    ...common,
    path: '/v1/health/cache/status',
    summary: 'Returns the result of the last check of the cache',
    response: LastCacheStatus,
    noStore: true,
    handler: async ({ cache }) => cache.last(),
  }),
];
