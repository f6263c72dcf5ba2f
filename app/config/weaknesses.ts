import { hostOf, tlsModeOf } from '../db/postgres-url.ts';
import { isLoopback } from '../limits/network.ts';
import { parseSmtpUrl } from '../mail/smtp-url.ts';
import type { Config } from './config.ts';
import { limitSettings } from './settings/limits.ts';

/** Variables that Node and the database driver read themselves. */
interface RuntimeVariables {
  readonly NODE_TLS_REJECT_UNAUTHORIZED?: string;
  readonly PGSSLMODE?: string;
}

/** A setting, and why its value is weaker than recommended; false if it is not. */
type Weakness = readonly [variable: string, why: string | false | undefined];

/**
 * Lists what is set weaker than recommended, each as `VARIABLE: why`, without values. The list is
 * empty for an installation that follows all recommendations.
 */
export function listWeaknesses(config: Config, env: RuntimeVariables): readonly string[] {
  return [
    ...findWeakLogins(config),
    ...findWeakListeners(config),
    ...findWeakConnections(config, env),
    ...findWeakLimits(config),
    ...config.remarks.exposed.map((name): Weakness => [name, 'every user may read the file']),
  ].flatMap(([variable, why]) =>
    why === false || why === undefined ? [] : [`${variable}: ${why}`],
  );
}

function findWeakLogins({ environment, auth, keys }: Config): readonly Weakness[] {
  return [
    ['NODE_ENV', environment !== 'production' && 'allows what production refuses'],
    ['AUTH_REAUTH_PASSWORD', auth.reauthPassword === 'allow' && 'clients may send passwords'],
    ['AUTH_UNKNOWN_USER', auth.unknownUser === 'reveal' && 'reveals who has an account'],
    [
      'AUTH_ISSUERS_FILE',
      auth.issuers.some(({ allowInsecureHttp }) => allowInsecureHttp) &&
        'an issuer is asked for its keys without TLS',
    ],
    ['KEYS_RAW_FORM', keys.rawForm === 'allow' && 'clients may send unwrapped keys'],
    [
      'KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT',
      keys.allowAnonymousInDevelopment && 'callers need no token',
    ],
    [
      'KEYS_PUBLISH_SECONDS',
      keys.publishSeconds < 310 && 'verifiers may not know a new key when it signs',
    ],
  ];
}

function findWeakListeners({ http }: Config): readonly Weakness[] {
  return [
    ['HTTP_PUBLIC_URL', isPlain(http.publicUrl) && 'clients connect without TLS'],
    ['HTTP_CORS_ORIGINS', http.corsOrigins.some(isPlain) && 'a page is loaded without TLS'],
    [
      'HTTP_TRUSTED_PROXIES',
      http.trustedProxies.some((network) => network.endsWith('/0')) &&
        'everybody may claim any client address',
    ],
    [
      'HTTP_INTERNAL_ROUTES',
      http.internalRoutes === 'both' && 'everybody may try internal API keys',
    ],
  ];
}

function findWeakConnections(config: Config, env: RuntimeVariables): readonly Weakness[] {
  const { database, redis, storage, mail } = config;
  const isS3 = storage.driver === 's3';
  return [
    ['DATABASE_URL', findWeakDatabase(database.url, env)],
    ['DATABASE_SERVICE_URL', findWeakDatabase(database.serviceUrl, env)],
    ['REDIS_URL', findWeakRedis(redis.url)],
    ['STORAGE_ENDPOINT', isS3 && isPlain(storage.endpoint ?? '') && 'no TLS'],
    [
      'STORAGE_CHECKSUMS',
      isS3 && storage.checksums === 'when_required' && 'TLS alone protects parts from damage',
    ],
    ['MAIL_DIRECTORY', mail.driver === 'file' && 'e-mails are stored and not sent'],
    ['MAIL_URL', mail.driver === 'smtp' && findWeakMail(mail.url)],
    ['MAIL_VALIDATE_URL', isPlain(mail.validateUrl ?? '') && 'a page is loaded without TLS'],
    [
      'NODE_TLS_REJECT_UNAUTHORIZED',
      env.NODE_TLS_REJECT_UNAUTHORIZED === '0' && 'certificates are not verified',
    ],
  ];
}

function findWeakLimits({ limits }: Config): readonly Weakness[] {
  const values: Readonly<Record<string, unknown>> = limits;
  return Object.entries(limitSettings.settings).map(([name, { variable }]): Weakness => [
    variable,
    values[name] === undefined && 'is off',
  ]);
}

/** Returns whether a URL of another machine is one without TLS. */
function isPlain(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed?.protocol === 'http:' && !isLoopback(parsed.hostname);
}

function findWeakDatabase(url: string, env: RuntimeVariables): string | false {
  const host = hostOf(url);
  if (host.startsWith('/') || isLoopback(host)) return false;
  const mode = tlsModeOf(url, env.PGSSLMODE);
  if (mode === 'no-verify') return 'the certificate of the server is not verified';
  return mode === 'disable' && 'no TLS';
}

function findWeakRedis(url: string): string | false {
  const { protocol, hostname, password } = new URL(url);
  const reasons = [
    ...(password === '' ? ['no password'] : []),
    ...(protocol === 'redis:' && !isLoopback(hostname) ? ['no TLS'] : []),
  ];
  return reasons.length > 0 && reasons.join(', ');
}

function findWeakMail(url: string): string | false {
  const { secure, requireTls, host } = parseSmtpUrl(url);
  return !secure && !requireTls && !isLoopback(host) && 'TLS is not required';
}
