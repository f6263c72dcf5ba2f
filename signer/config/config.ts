import { accessSync, constants, readFileSync } from 'node:fs';
import { z } from 'zod';
import {
  pinVariables,
  processVariables,
  serverVariables,
  soPinVariables,
  tokenVariables,
} from './variables.ts';

/** Exit code of a process whose configuration is invalid (EX_CONFIG of sysexits.h). */
export const exitBadConfig = 78;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables of the signer together with those of the HSM process except the PIN, so that the
 * problems of all of them are reported at once.
 */
const SignerVariables = z.object({ ...processVariables, ...serverVariables }).transform((env) => ({
  socketPath: env.SIGNER_SOCKET_PATH,
  sessions: env.SIGNER_SESSIONS,
  operationTimeoutMs: env.SIGNER_OPERATION_TIMEOUT_MS,
  logLevel: env.LOG_LEVEL,
}));
export type SignerConfig = z.output<typeof SignerVariables>;

const HsmVariables = z.object({ ...processVariables, ...pinVariables }).transform((env) => ({
  library: env.SIGNER_LIBRARY,
  tokenLabel: env.SIGNER_TOKEN_LABEL,
  pin: env.SIGNER_PIN,
  rsaBits: env.SIGNER_TOKEN_KEY_BITS,
  sessions: env.SIGNER_SESSIONS,
  queueLimit: env.SIGNER_QUEUE_LIMIT,
  keepAliveMs: env.SIGNER_KEEP_ALIVE_MS,
  logLevel: env.LOG_LEVEL,
}));
export type HsmConfig = z.output<typeof HsmVariables>;

const ToolVariables = z
  .object({ ...tokenVariables, ...pinVariables, ...soPinVariables })
  .transform((env) => ({
    library: env.SIGNER_LIBRARY,
    tokenLabel: env.SIGNER_TOKEN_LABEL,
    pin: env.SIGNER_PIN,
    soPin: env.SIGNER_SO_PIN,
    rsaBits: env.SIGNER_TOKEN_KEY_BITS,
  }));
type ToolConfig = z.output<typeof ToolVariables>;

/**
 * Thrown for an invalid environment. The message lists every problem, one per line, and never
 * contains the value of a variable.
 */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

/** Loads the signer's own configuration without reading the PIN. Throws ConfigError. */
export function loadSignerConfig(environment: Environment): SignerConfig {
  return load(SignerVariables, environment, findPinProblems(environment));
}

/** Loads the configuration of the HSM process. Throws ConfigError. */
export function loadHsmConfig(environment: Environment): HsmConfig {
  return loadWithSecrets(HsmVariables, environment, ['SIGNER_PIN']);
}

/** Loads the configuration of the command line tool. Throws ConfigError. */
export function loadToolConfig(environment: Environment): ToolConfig {
  return loadWithSecrets(ToolVariables, environment, ['SIGNER_PIN', 'SIGNER_SO_PIN']);
}

/** Loads a configuration, reading each secret from the file that `<name>_FILE` names, if set. */
function loadWithSecrets<Schema extends z.ZodType>(
  schema: Schema,
  environment: Environment,
  secrets: readonly string[],
): z.output<Schema> {
  const variables = { ...environment };
  const problems = secrets.flatMap((name) =>
    useFile(`${name}_FILE`, environment, (path) => {
      variables[name] = readFileSync(path, 'utf8').trimEnd();
    }),
  );
  return load(schema, variables, problems);
}

function findPinProblems(environment: Environment): string[] {
  if (environment['SIGNER_PIN_FILE'] === undefined && environment['SIGNER_PIN'] === undefined)
    return ['SIGNER_PIN: is missing'];
  return useFile('SIGNER_PIN_FILE', environment, (path) => accessSync(path, constants.R_OK));
}

/**
 * Calls `use` with the path in the variable `name`, if it is set. Returns one problem if `use`
 * throws, otherwise an empty list.
 */
function useFile(name: string, environment: Environment, use: (path: string) => void): string[] {
  const path = environment[name];
  try {
    if (path !== undefined) use(path);
    return [];
  } catch (error) {
    return [`${name}: ${(error as NodeJS.ErrnoException).code}`];
  }
}

function load<Schema extends z.ZodType>(
  schema: Schema,
  variables: Environment,
  foundProblems: readonly string[],
): z.output<Schema> {
  const result = schema.safeParse(variables);
  const issues = result.success ? [] : result.error.issues;
  const problems = [
    ...foundProblems,
    ...issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`),
  ];
  if (!result.success || problems.length > 0) throw new ConfigError(problems);
  return result.data;
}
