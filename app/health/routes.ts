import { z } from 'zod';
import { Timestamp } from '../http/bodies/wire.ts';
import type { Reply } from '../http/requests/request.ts';
import { routeFor } from '../http/routing/route.ts';
import type { CacheProbe } from './cache.ts';
import type { Health } from './health.ts';

const tag = 'Operation';

const CheckResult = z
  .strictObject({
    status: z.enum(['ok', 'error']).describe('Result of the check.'),
    latencyMs: z.int().min(0).describe('Duration of the check in milliseconds.'),
    error: z
      .string()
      .optional()
      .describe('A code: a class of failures, or a condition of this check (docs/health.md).'),
  })
  .meta({ id: 'CheckResult' });

const Checks = z
  .strictObject({
    database: CheckResult.describe('Postgres.'),
    cache: CheckResult.describe('Redis.'),
    storage: CheckResult.describe('The object store.'),
    queue: CheckResult.describe('Whether Redis keeps what is put into a queue.'),
    signer: CheckResult.describe('The signer and its HSM.'),
    jwks: CheckResult.describe('The key sets that verify access tokens.'),
  })
  .meta({ id: 'Checks' });

const Report = z
  .strictObject({
    status: z
      .enum(['ok', 'degraded', 'error'])
      .describe('`error` if the database or the signer is unavailable.'),
    version: z.string().describe('Version of this service.'),
    checks: Checks.describe('Each dependency.'),
  })
  .meta({ id: 'HealthReport' });

const State = z
  .strictObject({ status: z.enum(['ok', 'error']).describe('`ok`, or `error` with status 503.') })
  .meta({ id: 'ProbeResult' });

const About = z
  .strictObject({
    name: z.string().describe('Name of this service.'),
    version: z.string().describe('Version of this service.'),
    description: z.string().describe('What this service is.'),
  })
  .meta({ id: 'About' });

const MemoryUsage = z
  .strictObject({
    used: z.string().nullable().describe('Memory in use, such as `1.2M`; null if unknown.'),
    peak: z.string().nullable().describe('The most memory in use so far; null if unknown.'),
  })
  .meta({ id: 'MemoryUsage' });

const Cache = z
  .strictObject({
    status: z.enum(['ok', 'error']).describe('Whether the cache can be written.'),
    connected: z.boolean().describe('Whether the cache answered.'),
    tlsEnabled: z.boolean().describe('Whether the connection is encrypted.'),
    authEnabled: z.boolean().describe('Whether the connection has a password.'),
    memoryUsage: MemoryUsage.describe('Memory of the cache.'),
  })
  .meta({ id: 'CacheReport' });

const LastCacheStatus = z
  .strictObject({
    status: z.enum(['ok', 'error', 'unknown']).describe('Result of the last check.'),
    connected: z.boolean().describe('Whether the cache answered.'),
    checkedAt: Timestamp.nullable().describe('When it was last checked; null for never.'),
  })
  .meta({ id: 'CacheStatus' });

interface HealthServices {
  readonly health: Health;
  readonly cache: CacheProbe;
  readonly about: z.output<typeof About>;
}

const route = routeFor<HealthServices>();

/** Seconds after which a probe may ask again. */
const retrySeconds = 5;

/** Describes the status with which a probe learns that it must send no traffic. */
const unavailable = { 503: 'Takes no traffic now' };

const common = { method: 'get', tag, access: 'public', status: 200, errors: [] } as const;
/** Probes may add query parameters of their own. */
const open = { ...common, ignoresQuery: true } as const;
const probed = { ...open, isProbe: true } as const;

export const healthRoutes = [
  route({
    ...open,
    path: '/',
    operation: 'getAbout',
    summary: 'Returns the name, version and description of this service',
    response: About,
    handler: async ({ about }) => about,
  }),
  route({
    ...probed,
    path: '/health',
    operation: 'getHealth',
    otherStatuses: unavailable,
    summary: 'Checks every dependency; 503 when the database or the signer is unavailable',
    response: Report,
    noStore: true,
    handler: async ({ health, about }, { reply }) => {
      const report = await health.report();
      if (report.status === 'error') refuseTraffic(reply);
      return { ...report, version: about.version };
    },
  }),
  route({
    ...probed,
    path: '/health/live',
    operation: 'getLiveness',
    summary: 'Returns ok while the process runs, whatever its dependencies do',
    response: State,
    noStore: true,
    handler: async () => ({ status: 'ok' as const }),
  }),
  route({
    ...probed,
    path: '/health/ready',
    operation: 'getReadiness',
    otherStatuses: unavailable,
    summary: 'Tells within half a second whether this process can take traffic; 503 if not',
    response: State,
    noStore: true,
    handler: async ({ health }, { reply }) => {
      if (await health.isReady()) return { status: 'ok' as const };
      refuseTraffic(reply);
      return { status: 'error' as const };
    },
  }),
  route({
    ...common,
    path: '/v1/health/cache',
    operation: 'checkCache',
    summary: 'Checks the cache now',
    response: Cache,
    noStore: true,
    handler: ({ cache }) => cache.ping(),
  }),
  route({
    ...common,
    path: '/v1/health/cache/status',
    operation: 'getCacheStatus',
    summary: 'Returns the result of the last check of the cache',
    response: LastCacheStatus,
    noStore: true,
    handler: async ({ cache }) => cache.last(),
  }),
];

function refuseTraffic(reply: Reply): void {
  reply.status(503);
  reply.set('Retry-After', String(retrySeconds));
}
