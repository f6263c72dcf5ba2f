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
  HTTP_INTERNAL_ROUTES: z.enum(['internal', 'both']).optional(),
  HTTP_INTERNAL_HOST: z.string().min(1).default('127.0.0.1'),
  HTTP_INTERNAL_PORT: z.coerce.number().int().min(0).max(65_535).default(8081),
  INTERNAL_API_KEYS_FILE: z.string().min(1).optional(),
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
  AUTH_UNKNOWN_USER: z.enum(['reveal', 'decoy']).default('reveal'),
  AUTH_REAUTH_PASSWORD: z.enum(['allow', 'refuse']).default('allow'),
  UPLOADS_SESSION_TTL_SECONDS: Count.default(86_400),
  UPLOADS_ALLOWED_MIME_TYPES: List.default(['application/octet-stream']),
  PLANS_STANDARD_OPEN_UPLOADS: Count.default(20),
  PLANS_STANDARD_STORAGE_BYTES: Count.default(50 * 2 ** 30),
  AUDIT_BACKLOG_LIMIT: Count.default(100_000),
});

export type Environment = z.output<typeof Environment>;

/** Every problem of the environment in one message, one line each, naming variables and never values. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Throws ConfigError with every problem at once. */
export function parseEnvironment(env: NodeJS.ProcessEnv): Environment {
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
