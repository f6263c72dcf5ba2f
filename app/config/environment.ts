import { ConfigError } from '../../signer/protocol/process/config-error.ts';
import {
  readEnvironment,
  type Environment,
  type KnownVariables,
} from '../../signer/protocol/process/environment.ts';
import { parseSettings } from '../../signer/protocol/process/parse-settings.ts';
import { alertSettings, auditSettings } from './settings/audit.ts';
import { authSettings, readTrustedIssuers } from './settings/auth/auth.ts';
import { databaseSettings, redisSettings, signerSettings } from './settings/backends.ts';
import { documentSettings, jobSettings, maintenanceSettings } from './settings/documents.ts';
import { keySettings } from './settings/keys.ts';
import { limitSettings } from './settings/limits.ts';
import { httpSettings, internalKeySettings } from './settings/listeners.ts';
import { mailSettings } from './settings/mail.ts';
import { mfaSettings } from './settings/auth/mfa.ts';
import { processSettings } from './settings/process.ts';
import { isSecret, type SettingGroup, type ValuesOf } from './definition/setting.ts';
import { variablesOfOthers } from './other-variables.ts';
import { storageSettings } from './settings/storage.ts';
import { metricsSettings, tracingSettings } from './settings/telemetry.ts';
import { syncSettings } from './settings/sync.ts';
import { planSettings, uploadSettings } from './settings/uploads.ts';

/** All settings of the app by subject, in the order of docs/configuration.md. */
export const settingGroups = {
  process: processSettings,
  http: httpSettings,
  internalKeys: internalKeySettings,
  metrics: metricsSettings,
  tracing: tracingSettings,
  database: databaseSettings,
  redis: redisSettings,
  storage: storageSettings,
  signer: signerSettings,
  mail: mailSettings,
  auth: authSettings,
  mfa: mfaSettings,
  keys: keySettings,
  limits: limitSettings,
  uploads: uploadSettings,
  plans: planSettings,
  documents: documentSettings,
  jobs: jobSettings,
  maintenance: maintenanceSettings,
  sync: syncSettings,
  audit: auditSettings,
  alerts: alertSettings,
} satisfies Readonly<Record<string, SettingGroup>>;

const groups: readonly (readonly [string, SettingGroup])[] = Object.entries(settingGroups);

type Values = {
  readonly [Name in keyof typeof settingGroups]: ValuesOf<(typeof settingGroups)[Name]>;
};

/** Node, the signer and OpenTelemetry read variables with these beginnings themselves. */
const prefixesOfOthers: ReadonlySet<string> = new Set(['NODE_', 'OTEL_', 'SIGNER_']);

/** Returns the variables of the app, and those that may stand beside them. */
export function knownVariables(): KnownVariables {
  const settings = groups.flatMap(([, group]) => Object.values(group.settings));
  const variables = settings.map(({ variable }) => variable);
  const prefixes = new Set(variables.flatMap((name) => /^[A-Z]+_/.exec(name)?.[0] ?? []));
  return {
    settings: variables,
    secrets: settings.filter(isSecret).map(({ variable }) => variable),
    others: variablesOfOthers,
    prefixes: [...prefixes].filter((prefix) => !prefixesOfOthers.has(prefix)),
  };
}

/** Facts about the environment that are worth a line in the log. */
export type Remarks = Pick<Environment, 'unknown' | 'exposed'>;

/**
 * Parses all settings, by group, and reads the files that they name. Throws one ConfigError that
 * lists every problem.
 */
export function parseEnvironment(env: NodeJS.ProcessEnv) {
  const environment = readEnvironment(env, knownVariables());
  const { variables, unknown, exposed } = environment;
  const parsed = groups.map(([name, group]) => [name, parseGroup(group, environment)] as const);
  const { issuers, problems: issuerProblems } = readTrustedIssuers(variables);
  const problems = [
    ...environment.problems,
    ...parsed.flatMap(([, { problems }]) => problems),
    ...groups.flatMap(([, { findConflicts }]) => findConflicts?.(variables) ?? []),
    ...issuerProblems,
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  const values = Object.fromEntries(parsed.map(([name, { values }]) => [name, values]));
  const remarks: Remarks = { unknown, exposed };
  return { ...(values as Values), issuers, remarks };
}

function parseGroup({ settings }: SettingGroup, environment: Environment) {
  const named = Object.entries(settings);
  const { values, problems } = parseSettings(
    Object.fromEntries(named.map(([, { variable, schema }]) => [variable, schema])),
    environment,
  );
  const files = named.filter(([, setting]) => isSecret(setting));
  return {
    values: Object.fromEntries([
      ...named.map(([name, { variable }]) => [name, values[variable]] as const),
      ...files.map(([name, { variable }]) => [`${name}File`, environment.files[variable]] as const),
    ]),
    problems,
  };
}
