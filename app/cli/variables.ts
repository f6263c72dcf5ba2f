import type { z } from 'zod';
import { ConfigError } from '../../signer/protocol/process/config-error.ts';
import { readEnvironment } from '../../signer/protocol/process/environment.ts';
import { parseSettings } from '../../signer/protocol/process/parse-settings.ts';
import { isSecret, type Setting } from '../config/definition/setting.ts';
import { knownVariables } from '../config/environment.ts';

/** The settings of a command, by any names. */
type Settings = Readonly<Record<string, Setting>>;

type ValuesOf<S extends Settings> = {
  readonly [Name in keyof S]: z.output<S[Name]['schema']>;
};

/**
 * Reads the settings of a command from the environment, and secrets from their files. Throws one
 * ConfigError that lists every problem and quotes no value.
 */
export function readSettings<S extends Settings>(settings: S): ValuesOf<S> {
  const named = Object.entries<Setting>(settings);
  const variables = named.map(([, { variable }]) => variable);
  const { settings: ofApp, others = [] } = knownVariables();
  const environment = readEnvironment(process.env, {
    settings: variables,
    secrets: named.filter(([, setting]) => isSecret(setting)).map(([, { variable }]) => variable),
    others: [...ofApp, ...others],
  });
  const schemas = Object.fromEntries(named.map(([, { variable, schema }]) => [variable, schema]));
  const { values, problems } = parseSettings(schemas, environment);
  if (environment.problems.length + problems.length > 0) {
    throw new ConfigError([...environment.problems, ...problems]);
  }
  return Object.fromEntries(
    named.map(([name, { variable }]) => [name, values[variable]]),
  ) as ValuesOf<S>;
}
