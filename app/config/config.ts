import { parseEnvironment, type Environment } from './environment.ts';
import type { MailConfig } from '../mail/create-mailer.ts';

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
      /** Where purge and maintenance answer: `both` is the public listener too. */
      internalRoutes: e.HTTP_INTERNAL_ROUTES ?? (e.NODE_ENV === 'production' ? 'internal' : 'both'),
      internalHost: e.HTTP_INTERNAL_HOST,
      internalPort: e.HTTP_INTERNAL_PORT,
    },
    internalKeys: { file: e.INTERNAL_API_KEYS_FILE },
    database: {
      url: e.DATABASE_URL,
      serviceUrl: e.DATABASE_SERVICE_URL,
      poolSize: e.DATABASE_POOL_SIZE,
    },
    redis: { url: e.REDIS_URL },
    storage: storageConfig(e),
    signer: { socketPath: e.SIGNER_SOCKET_PATH },
    mail: mailConfig(e),
    auth: {
      issuer: e.HTTP_PUBLIC_URL,
      audience: e.AUTH_AUDIENCE,
      issuers: e.issuers,
      unknownUser: e.AUTH_UNKNOWN_USER,
      reauthPassword: e.AUTH_REAUTH_PASSWORD,
    },
    uploads: {
      sessionTtlSeconds: e.UPLOADS_SESSION_TTL_SECONDS,
      allowedMimeTypes: e.UPLOADS_ALLOWED_MIME_TYPES,
    },
    documents: { pendingDays: e.DOCUMENTS_PENDING_DAYS },
    plans: {
      standard: {
        openUploads: e.PLANS_STANDARD_OPEN_UPLOADS,
        storageBytes: e.PLANS_STANDARD_STORAGE_BYTES,
      },
      named: e.plans,
    },
    sync: { schemaVersions: e.SYNC_SCHEMA_VERSIONS, rules: e.syncRules },
    maintenance: { garbageGraceHours: e.MAINTENANCE_GARBAGE_GRACE_HOURS },
    limits: {
      'register-address': e.LIMITS_REGISTER_ADDRESS,
      'register-email': e.LIMITS_REGISTER_EMAIL,
      'validate-address': e.LIMITS_VALIDATE_ADDRESS,
      'challenge-address': e.LIMITS_CHALLENGE_ADDRESS,
      'proof-address': e.LIMITS_PROOF_ADDRESS,
      'proof-account': e.LIMITS_PROOF_ACCOUNT,
      'totp-account': e.LIMITS_TOTP_ACCOUNT,
      'share-key-user': e.LIMITS_SHARE_KEY_USER,
    },
    keys: {
      publishSeconds: e.KEYS_PUBLISH_SECONDS,
      rawForm: e.KEYS_RAW_FORM,
      allowAnonymousInDevelopment: e.KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT,
    },
    restore: { acceptMark: e.RESTORE_ACCEPT_MARK },
    audit: {
      backlogLimit: e.AUDIT_BACKLOG_LIMIT,
      tallyLimit: e.AUDIT_TALLY_LIMIT,
      /** From which on `dlq/alerts` has something to say. */
      alerts: {
        deadLetters: e.AUDIT_ALERT_DEAD_LETTERS,
        deadLetterAgeSeconds: e.AUDIT_ALERT_DEAD_LETTER_AGE_SECONDS,
        backlog: e.AUDIT_ALERT_BACKLOG,
        backlogAgeSeconds: e.AUDIT_ALERT_BACKLOG_AGE_SECONDS,
        pauseSeconds: e.AUDIT_ALERT_PAUSE_SECONDS,
      },
    },
  });
}

export type Config = ReturnType<typeof loadConfig>;

function mailConfig(e: Environment): MailConfig {
  const common = { from: e.MAIL_FROM, validateUrl: e.MAIL_VALIDATE_URL };
  return e.MAIL_URL === undefined
    ? { ...common, driver: 'file', directory: e.MAIL_DIRECTORY ?? '' }
    : { ...common, driver: 'smtp', url: e.MAIL_URL, caFile: e.MAIL_CA_FILE };
}

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
