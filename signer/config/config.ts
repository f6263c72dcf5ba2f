import { accessSync, constants, readFileSync } from 'node:fs';
import { z } from 'zod';

/** What a process ends with whose configuration is at fault (EX_CONFIG of sysexits.h). */
export const exitBadConfig = 78;

type Environment = Readonly<Record<string, string | undefined>>;

/** A PIN as PKCS#11 takes it: an empty or over-long one would still cost a login attempt. */
const Pin = z.string('is missing').min(4, 'is too short').max(255, 'is too long');

const Milliseconds = z.coerce.number().int().min(10).max(3_600_000);

const tokenVariables = {
  SIGNER_LIBRARY: z.string('is missing').min(1),
  SIGNER_TOKEN_LABEL: z
    .string('is missing')
    .regex(/^[!-~]([ -~]{0,30}[!-~])?$/, 'must be 1 to 32 ASCII characters'),
  SIGNER_TOKEN_KEY_BITS: z.coerce.number().int().min(2048).max(4096).multipleOf(1024).default(2048),
};

const processVariables = {
  ...tokenVariables,
  SIGNER_SESSIONS: z.coerce.number().int().min(1).max(64).default(8),
  SIGNER_QUEUE_LIMIT: z.coerce.number().int().min(1).default(1024),
  SIGNER_KEEP_ALIVE_MS: Milliseconds.default(30_000),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
};

/** Those of the HSM process too, so that their problems are found at once: all but the PIN. */
const SignerVariables = z
  .object({
    ...processVariables,
    SIGNER_SOCKET_PATH: z.string('is missing').min(1).max(107),
    SIGNER_OPERATION_TIMEOUT_MS: Milliseconds.default(10_000),
  })
  .transform((env) => ({
    socketPath: env.SIGNER_SOCKET_PATH,
    sessions: env.SIGNER_SESSIONS,
    operationTimeoutMs: env.SIGNER_OPERATION_TIMEOUT_MS,
    logLevel: env.LOG_LEVEL,
  }));
export type SignerConfig = z.output<typeof SignerVariables>;

const HsmVariables = z.object({ ...processVariables, SIGNER_PIN: Pin }).transform((env) => ({
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
  .object({ ...tokenVariables, SIGNER_PIN: Pin, SIGNER_SO_PIN: Pin.optional() })
  .transform((env) => ({
    library: env.SIGNER_LIBRARY,
    tokenLabel: env.SIGNER_TOKEN_LABEL,
    pin: env.SIGNER_PIN,
    soPin: env.SIGNER_SO_PIN,
    rsaBits: env.SIGNER_TOKEN_KEY_BITS,
  }));
type ToolConfig = z.output<typeof ToolVariables>;

/** The message lists every problem of the environment, one a line, and repeats no value. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

/** The signer's own configuration. It does not read the PIN. Throws ConfigError. */
export function loadSignerConfig(environment: Environment): SignerConfig {
  return load(SignerVariables, environment, findPinProblems(environment));
}

/** The configuration of the HSM process. Throws ConfigError. */
export function loadHsmConfig(environment: Environment): HsmConfig {
  return loadWithSecrets(HsmVariables, environment, ['SIGNER_PIN']);
}

/** The configuration of the command line tool. Throws ConfigError. */
export function loadToolConfig(environment: Environment): ToolConfig {
  return loadWithSecrets(ToolVariables, environment, ['SIGNER_PIN', 'SIGNER_SO_PIN']);
}

/** A secret may stand in a file that `<name>_FILE` names, and then is read from there. */
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

/** The problem, if any, of the file that a variable names. */
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
