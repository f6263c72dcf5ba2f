import { z } from 'zod';
import { alertSettings, auditSettings, restoreSettings } from './settings/audit.ts';
import { authSettings, readTrustedIssuers } from './settings/auth.ts';
import { databaseSettings, redisSettings, signerSettings } from './settings/backends.ts';
import { documentSettings, maintenanceSettings } from './settings/documents.ts';
import { keySettings } from './settings/keys.ts';
import { limitSettings } from './settings/limits.ts';
import { httpSettings, internalKeySettings } from './settings/listeners.ts';
import { mailSettings } from './settings/mail.ts';
import { processSettings } from './settings/process.ts';
import type { SettingGroup, ValuesOf, Variables } from './definition/setting.ts';
import { storageSettings } from './settings/storage.ts';
import { syncSettings } from './settings/sync.ts';
import { planSettings, uploadSettings } from './settings/uploads.ts';

/** All settings of the app by subject, in the order of docs/configuration.md. */
export const settingGroups = {
  process: processSettings,
  http: httpSettings,
  internalKeys: internalKeySettings,
  database: databaseSettings,
  redis: redisSettings,
  storage: storageSettings,
  signer: signerSettings,
  mail: mailSettings,
  auth: authSettings,
  keys: keySettings,
  limits: limitSettings,
  uploads: uploadSettings,
  plans: planSettings,
  documents: documentSettings,
  maintenance: maintenanceSettings,
  sync: syncSettings,
  audit: auditSettings,
  alerts: alertSettings,
  restore: restoreSettings,
} satisfies Readonly<Record<string, SettingGroup>>;

type Values = {
  readonly [Name in keyof typeof settingGroups]: ValuesOf<(typeof settingGroups)[Name]>;
};

/**
 * Lists every problem of the environment, one per line. The text names variables but repeats no
 * value.
 */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * Parses all settings, by group, and reads the files that they name. Throws one ConfigError that
 * lists every problem.
 */
export function parseEnvironment(env: NodeJS.ProcessEnv) {
  const variables = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const groups: readonly (readonly [string, SettingGroup])[] = Object.entries(settingGroups);
  const parsed = groups.map(([name, group]) => [name, parseGroup(group, variables)] as const);
  const { issuers, problems: issuerProblems } = readTrustedIssuers(variables);
  const problems = [
    ...parsed.flatMap(([, { problems }]) => problems),
    ...groups.flatMap(([, { findConflicts }]) => findConflicts?.(variables) ?? []),
    ...issuerProblems,
  ];
  if (problems.length > 0) {
    throw new ConfigError(`The configuration is not usable:\n  ${problems.join('\n  ')}`);
  }
  const values = Object.fromEntries(parsed.map(([name, { values }]) => [name, values]));
  return { ...(values as Values), issuers };
}

function parseGroup({ settings }: SettingGroup, variables: Variables) {
  const results = Object.entries(settings).map(
    ([name, { variable, schema }]) =>
      [name, variable, z.safeParse(schema, variables[variable])] as const,
  );
  return {
    values: Object.fromEntries(results.map(([name, , { data }]) => [name, data])),
    problems: results.flatMap(([, variable, { error }]) =>
      (error?.issues ?? []).map(({ message }) => {
        const isSet = variables[variable] !== undefined;
        return `${variable}: ${isSet ? message : 'is not set'}`;
      }),
    ),
  };
}
