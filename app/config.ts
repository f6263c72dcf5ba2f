import { z } from 'zod';

const Boolean = z.enum(['true', 'false']).transform((value) => value === 'true');
const List = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const Count = z.coerce.number().int().positive();
const Url = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''));
const PostgresUrl = z.url({ protocol: /^postgres(ql)?$/ });

/** The environment variables of the app. A setting `a.bC` is the variable `A_B_C`. */
const Environment = z.object({
  NODE_ENV: z.enum(['production', 'development', 'test']).default('production'),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  HTTP_PUBLIC_URL: Url.default('http://127.0.0.1:8080'),
  HTTP_TRUSTED_PROXIES: List.pipe(z.array(z.union([z.cidrv4(), z.cidrv6()]))).default([]),
  HTTP_CORS_ORIGINS: List.pipe(z.array(z.url({ protocol: /^https?$/ }))).default([]),
  HTTP_DRAIN_SECONDS: Count.default(25),
  DATABASE_URL: PostgresUrl,
  DATABASE_SERVICE_URL: PostgresUrl,
  DATABASE_POOL_SIZE: Count.default(20),
  REDIS_URL: z.url({ protocol: /^rediss?$/ }),
  STORAGE_DRIVER: z.enum(['filesystem', 's3']).default('filesystem'),
  STORAGE_DIRECTORY: z.string().min(1).optional(),
  STORAGE_ENDPOINT: Url.optional(),
  STORAGE_REGION: z.string().min(1).default('us-east-1'),
  STORAGE_BUCKET: z.string().min(1).optional(),
  STORAGE_ACCESS_KEY_ID: z.string().min(1).optional(),
  STORAGE_SECRET_ACCESS_KEY: z.string().min(1).optional(),
  STORAGE_FORCE_PATH_STYLE: Boolean.default(false),
  STORAGE_CHECKSUMS: z.enum(['when_supported', 'when_required']).default('when_supported'),
  SIGNER_SOCKET_PATH: z.string().min(1),
  MAIL_DIRECTORY: z.string().min(1),
  MAIL_FROM: z.string().min(3).default('Probatio <no-reply@probatio.invalid>'),
  AUTH_AUDIENCE: z.string().min(1).default('probatio'),
  UPLOADS_SESSION_TTL_SECONDS: Count.default(86_400),
  UPLOADS_ALLOWED_MIME_TYPES: List.default(['application/octet-stream']),
  PLANS_STANDARD_OPEN_UPLOADS: Count.default(20),
  PLANS_STANDARD_STORAGE_BYTES: Count.default(50 * 2 ** 30),
  AUDIT_BACKLOG_LIMIT: Count.default(100_000),
});

type Environment = z.output<typeof Environment>;

/** Every problem of the environment in one message, one line each, naming variables and never values. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

function parseEnvironment(env: NodeJS.ProcessEnv): Environment {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(set);
  const issues = parsed.error?.issues ?? [];
  const problems = [
    ...issues.map((issue) => `${String(issue.path[0])}: ${describe(issue)}`),
    ...missingStorageSettings(set),
  ];
  if (!parsed.success || problems.length > 0) {
    throw new ConfigError(`The configuration is not usable:\n  ${problems.join('\n  ')}`);
  }
  return parsed.data;
}

function describe(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_type' && issue.input === undefined ? 'is not set' : issue.message;
}

/** What only one driver needs. An unknown driver is a problem of its own. */
function missingStorageSettings(env: Partial<Record<string, string>>): string[] {
  const { STORAGE_DRIVER: driver = 'filesystem' } = env;
  const needed = { filesystem: 'STORAGE_DIRECTORY', s3: 'STORAGE_BUCKET' }[driver];
  if (needed === undefined || env[needed] !== undefined) return [];
  return [`${needed}: is not set (STORAGE_DRIVER is ${driver})`];
}

/** Reads the environment once into a frozen object. Throws ConfigError with every problem at once. */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const e = parseEnvironment(env);
  return Object.freeze({
    environment: e.NODE_ENV,
    logLevel: e.LOG_LEVEL,
    http: {
      host: e.HOST,
      port: e.PORT,
      publicUrl: e.HTTP_PUBLIC_URL,
      trustedProxies: e.HTTP_TRUSTED_PROXIES,
      corsOrigins: e.HTTP_CORS_ORIGINS.map((origin) => new URL(origin).origin),
      drainSeconds: e.HTTP_DRAIN_SECONDS,
    },
    database: {
      url: e.DATABASE_URL,
      serviceUrl: e.DATABASE_SERVICE_URL,
      poolSize: e.DATABASE_POOL_SIZE,
    },
    redis: { url: e.REDIS_URL },
    storage: storageConfig(e),
    signer: { socketPath: e.SIGNER_SOCKET_PATH },
    mail: { directory: e.MAIL_DIRECTORY, from: e.MAIL_FROM },
    auth: { issuer: e.HTTP_PUBLIC_URL, audience: e.AUTH_AUDIENCE },
    uploads: {
      sessionTtlSeconds: e.UPLOADS_SESSION_TTL_SECONDS,
      allowedMimeTypes: e.UPLOADS_ALLOWED_MIME_TYPES,
    },
    plans: {
      standard: {
        openUploads: e.PLANS_STANDARD_OPEN_UPLOADS,
        storageBytes: e.PLANS_STANDARD_STORAGE_BYTES,
      },
    },
    audit: { backlogLimit: e.AUDIT_BACKLOG_LIMIT },
  });
}

export type Config = ReturnType<typeof loadConfig>;

function storageConfig(e: Environment) {
  return e.STORAGE_DRIVER === 'filesystem'
    ? { driver: 'filesystem' as const, directory: e.STORAGE_DIRECTORY ?? '' }
    : {
        driver: 's3' as const,
        endpoint: e.STORAGE_ENDPOINT,
        region: e.STORAGE_REGION,
        bucket: e.STORAGE_BUCKET ?? '',
        accessKeyId: e.STORAGE_ACCESS_KEY_ID,
        secretAccessKey: e.STORAGE_SECRET_ACCESS_KEY,
        forcePathStyle: e.STORAGE_FORCE_PATH_STYLE,
        checksums: e.STORAGE_CHECKSUMS,
      };
}
