import { z } from 'zod';
import { readIssuers, type IssuerConfig } from '../tokens/issuers/config.ts';
import { PostgresUrl } from '../db/postgres-url.ts';
import { Rate } from '../limits/rate.ts';
import { Sender } from '../mail/sender.ts';
import { SmtpUrl } from '../mail/smtp-url.ts';
import { readSyncRules } from '../sync/merge/rules-file.ts';
import type { SyncRules } from '../sync/merge/rules.ts';
import { SchemaVersions } from '../sync/schema-versions.ts';
import { readPlans } from '../uploads/sessions/plans-file.ts';
import type { Plan } from '../uploads/sessions/quota.ts';

const Boolean = z.enum(['true', 'false']).transform((value) => value === 'true');
const List = z.string().transform((value) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const Count = z.coerce.number().int().positive();
const Url = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''));
const defaultPublicUrl = 'http://127.0.0.1:8080';
/** What a timer holds, of milliseconds. */
const maxTimerSeconds = 2_147_483;
const maxTtlSeconds = 365 * 86_400;

/** A rate such as 5/1h, or `off`. */
function limit(rate: string) {
  return z.string().default(rate).pipe(Rate);
}

/** The environment variables of the app. A setting `a.bC` is the variable `A_B_C`. */
const Environment = z.object({
  NODE_ENV: z.enum(['production', 'development', 'test']).default('production'),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  HTTP_PUBLIC_URL: Url.default(defaultPublicUrl),
  HTTP_TRUSTED_PROXIES: List.pipe(z.array(z.union([z.cidrv4(), z.cidrv6()]))).default([]),
  HTTP_CORS_ORIGINS: List.pipe(z.array(z.url({ protocol: /^https?$/ }))).default([]),
  HTTP_DRAIN_SECONDS: Count.max(maxTimerSeconds).default(25),
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
  MAIL_DIRECTORY: z.string().min(1).optional(),
  MAIL_URL: SmtpUrl.optional(),
  MAIL_CA_FILE: z.string().min(1).optional(),
  MAIL_VALIDATE_URL: Url.refine((url) => !url.includes('#'), 'must have no fragment').optional(),
  MAIL_FROM: z
    .string()
    .refine((text) => Sender.safeParse(text).success, 'must be an address, or a name and <address>')
    .default('Probatio <no-reply@probatio.invalid>'),
  AUTH_AUDIENCE: z.string().min(1).default('probatio'),
  AUTH_ISSUERS_FILE: z.string().min(1).optional(),
  AUTH_UNKNOWN_USER: z.enum(['reveal', 'decoy']).default('reveal'),
  AUTH_REAUTH_PASSWORD: z.enum(['allow', 'refuse']).default('allow'),
  LIMITS_REGISTER_ADDRESS: limit('5/1h'),
  LIMITS_REGISTER_EMAIL: limit('3/1h'),
  LIMITS_VALIDATE_ADDRESS: limit('60/1m'),
  LIMITS_CHALLENGE_ADDRESS: limit('30/1m'),
  LIMITS_PROOF_ADDRESS: limit('10/15m'),
  LIMITS_PROOF_ACCOUNT: limit('10/15m'),
  LIMITS_TOTP_ACCOUNT: limit('5/10m'),
  LIMITS_SHARE_KEY_USER: limit('60/1h'),
  UPLOADS_SESSION_TTL_SECONDS: Count.max(maxTtlSeconds).default(86_400),
  UPLOADS_ALLOWED_MIME_TYPES: List.default(['application/octet-stream']),
  DOCUMENTS_PENDING_DAYS: Count.max(36_500).default(30),
  PLANS_STANDARD_OPEN_UPLOADS: Count.default(20),
  PLANS_STANDARD_STORAGE_BYTES: Count.default(50 * 2 ** 30),
  PLANS_FILE: z.string().min(1).optional(),
  SYNC_RULES_FILE: z.string().min(1).optional(),
  SYNC_SCHEMA_VERSIONS: SchemaVersions.default({ min: 1, max: 1 }),
  MAINTENANCE_GARBAGE_GRACE_HOURS: z.coerce.number().int().min(0).max(8_760).default(24),
  KEYS_RAW_FORM: z.enum(['allow', 'refuse']).default('allow'),
  KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT: Boolean.default(false),
  // Others keep the key set for 300 s, and a process hears of a key within 10.
  KEYS_PUBLISH_SECONDS: z.coerce.number().int().min(0).max(86_400).default(310),
  RESTORE_ACCEPT_MARK: z.guid().toLowerCase().optional(),
  AUDIT_BACKLOG_LIMIT: Count.default(100_000),
  AUDIT_TALLY_LIMIT: Count.default(10_000),
  AUDIT_ALERT_DEAD_LETTERS: Count.default(1),
  AUDIT_ALERT_DEAD_LETTER_AGE_SECONDS: Count.default(86_400),
  AUDIT_ALERT_BACKLOG: Count.default(10_000),
  AUDIT_ALERT_BACKLOG_AGE_SECONDS: Count.default(300),
  AUDIT_ALERT_PAUSE_SECONDS: Count.default(60),
});

export type Environment = z.output<typeof Environment> & {
  /** What AUTH_ISSUERS_FILE holds. */
  readonly issuers: readonly IssuerConfig[];
  /** What PLANS_FILE holds. */
  readonly plans: ReadonlyMap<string, Plan>;
  /** What SYNC_RULES_FILE holds. */
  readonly syncRules: SyncRules;
};

/** Every problem of the environment in one message, one line each, naming variables and never values. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Throws ConfigError with every problem at once. */
export function parseEnvironment(env: NodeJS.ProcessEnv): Environment {
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(set);
  const issues = parsed.error?.issues ?? [];
  const { AUTH_ISSUERS_FILE: file, HTTP_PUBLIC_URL: ownIssuer = defaultPublicUrl } = set;
  const read = file === undefined ? undefined : readIssuers(file, ownIssuer);
  const { plans, problems: planProblems } = readNamedPlans(set['PLANS_FILE']);
  const { rules: syncRules, problems: ruleProblems } = readRules(set['SYNC_RULES_FILE']);
  const problems = [
    ...issues.map((issue) => `${String(issue.path[0])}: ${describe(issue, set)}`),
    ...missingStorageSettings(set),
    ...(read?.problems ?? []).map((problem) => `AUTH_ISSUERS_FILE: ${problem}`),
    ...mailTransportProblems(set),
    ...planProblems,
    ...ruleProblems,
    ...gracePeriodProblems(parsed.data),
    ...anonymityProblems(set),
  ];
  if (!parsed.success || problems.length > 0) {
    throw new ConfigError(`The configuration is not usable:\n  ${problems.join('\n  ')}`);
  }
  return { ...parsed.data, issuers: read?.issuers ?? [], plans, syncRules };
}

function readNamedPlans(file: string | undefined) {
  if (file === undefined) return { plans: new Map<string, Plan>(), problems: [] };
  const { plans, problems } = readPlans(file);
  return { plans, problems: problems.map((problem) => `PLANS_FILE: ${problem}`) };
}

function readRules(file: string | undefined) {
  if (file === undefined) return { rules: new Map<never, never>(), problems: [] };
  const { rules, problems } = readSyncRules(file);
  return { rules, problems: problems.map((problem) => `SYNC_RULES_FILE: ${problem}`) };
}

/** Without any, an upload that is being opened could be taken for garbage. */
function gracePeriodProblems(data: z.output<typeof Environment> | undefined): string[] {
  const isRisky = data?.NODE_ENV === 'production' && data.MAINTENANCE_GARBAGE_GRACE_HOURS === 0;
  return isRisky ? ['MAINTENANCE_GARBAGE_GRACE_HOURS: must not be 0 in production'] : [];
}

/** Nobody must come without a token by a setting that was left over. */
function anonymityProblems(env: Partial<Record<string, string>>): string[] {
  const isAllowed = env['KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT'] === 'true';
  const { NODE_ENV: environment = 'production' } = env;
  return isAllowed && environment !== 'development'
    ? ['KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT: must not be true outside of development']
    : [];
}

function describe(issue: z.core.$ZodIssue, env: Partial<Record<string, string>>): string {
  return env[String(issue.path[0])] === undefined ? 'is not set' : issue.message;
}

/** Mails go to a server or into a directory. */
function mailTransportProblems(env: Partial<Record<string, string>>): string[] {
  const { MAIL_URL: url, MAIL_DIRECTORY: directory } = env;
  if (url === undefined && directory === undefined) {
    return ['MAIL_DIRECTORY: is not set, and neither is MAIL_URL'];
  }
  return url !== undefined && directory !== undefined
    ? ['MAIL_URL: is set beside MAIL_DIRECTORY']
    : [];
}

/** What only one driver needs. An unknown driver is a problem of its own. */
function missingStorageSettings(env: Partial<Record<string, string>>): string[] {
  const { STORAGE_DRIVER: driver = 'filesystem' } = env;
  const needed = { filesystem: 'STORAGE_DIRECTORY', s3: 'STORAGE_BUCKET' }[driver];
  if (needed === undefined) return [];
  const problem = `is not set (STORAGE_DRIVER is ${driver})`;
  return [
    ...(env[needed] === undefined ? [`${needed}: ${problem}`] : []),
    ...(driver === 's3' ? halfCredentials(env) : []),
  ];
}

/** The SDK's own chain is for who sets neither. */
function halfCredentials(env: Partial<Record<string, string>>): string[] {
  const pair = ['STORAGE_ACCESS_KEY_ID', 'STORAGE_SECRET_ACCESS_KEY'];
  const missing = pair.filter((name) => env[name] === undefined);
  return missing.length === 1 ? missing.map((name) => `${name}: is not set, and the other is`) : [];
}
