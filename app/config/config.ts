import { parseEnvironment } from './environment.ts';
import { toMailConfig } from './settings/mail.ts';
import { toMfaConfig } from './settings/auth/mfa.ts';
import { toStorageConfig } from './settings/storage.ts';

/** Reads the environment into a frozen object. Throws one ConfigError that lists every problem. */
export function loadConfig(env: NodeJS.ProcessEnv) {
  const { process, http, auth, plans, sync, remarks, ...values } = parseEnvironment(env);
  const { issuersFile: _read, ...authValues } = auth;
  const { named = new Map<never, never>(), ...standard } = plans;
  return Object.freeze({
    ...process,
    http: {
      ...http,
      corsOrigins: http.corsOrigins.map((origin) => new URL(origin).origin),
      /** `both` serves the internal routes on the public listener too. */
      internalRoutes:
        http.internalRoutes ?? (process.environment === 'production' ? 'internal' : 'both'),
    },
    internalKeys: values.internalKeys,
    metrics: values.metrics,
    tracing: values.tracing,
    database: values.database,
    redis: values.redis,
    storage: toStorageConfig(values.storage),
    signer: values.signer,
    mail: toMailConfig(values.mail),
    auth: { ...authValues, issuer: http.publicUrl, issuers: values.issuers },
    mfa: toMfaConfig(values.mfa),
    uploads: values.uploads,
    documents: values.documents,
    jobs: values.jobs,
    plans: { standard, named },
    sync: { ...sync, rules: sync.rules ?? new Map<never, never>() },
    maintenance: values.maintenance,
    limits: values.limits,
    keys: values.keys,
    /** `alerts` holds the thresholds from which the route `dlq/alerts` reports an alert. */
    audit: { ...values.audit, alerts: values.alerts },
    remarks,
  });
}

export type Config = ReturnType<typeof loadConfig>;
