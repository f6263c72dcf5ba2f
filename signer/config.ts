import { readFileSync } from 'node:fs';
import { z } from 'zod';

type Environment = Readonly<Record<string, string | undefined>>;

/** A PIN as PKCS#11 takes it: an empty or over-long one would still cost a login attempt. */
const Pin = z.string('is missing').min(4, 'is too short').max(255, 'is too long');

const tokenVariables = {
  SIGNER_LIBRARY: z.string('is missing').min(1),
  SIGNER_TOKEN_LABEL: z
    .string('is missing')
    .regex(/^[!-~]([ -~]{0,30}[!-~])?$/, 'must be 1 to 32 ASCII characters'),
  SIGNER_PIN: Pin,
};

const SignerVariables = z
  .object({
    ...tokenVariables,
    SIGNER_SOCKET_PATH: z.string('is missing').min(1).max(107),
    SIGNER_SESSIONS: z.coerce.number().int().min(1).max(64).default(8),
    SIGNER_QUEUE_LIMIT: z.coerce.number().int().min(1).default(1024),
    LOG_LEVEL: z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
      .default('info'),
  })
  .transform((env) => ({
    socketPath: env.SIGNER_SOCKET_PATH,
    library: env.SIGNER_LIBRARY,
    tokenLabel: env.SIGNER_TOKEN_LABEL,
    pin: env.SIGNER_PIN,
    sessions: env.SIGNER_SESSIONS,
    queueLimit: env.SIGNER_QUEUE_LIMIT,
    logLevel: env.LOG_LEVEL,
  }));
export type SignerConfig = z.output<typeof SignerVariables>;

const ToolVariables = z
  .object({
    ...tokenVariables,
    SIGNER_SO_PIN: Pin.optional(),
    SIGNER_TOKEN_KEY_BITS: z.coerce
      .number()
      .int()
      .min(2048)
      .max(4096)
      .multipleOf(1024)
      .default(2048),
  })
  .transform((env) => ({
    library: env.SIGNER_LIBRARY,
    tokenLabel: env.SIGNER_TOKEN_LABEL,
    pin: env.SIGNER_PIN,
    soPin: env.SIGNER_SO_PIN,
    rsaBits: env.SIGNER_TOKEN_KEY_BITS,
  }));
export type ToolConfig = z.output<typeof ToolVariables>;

/** The message lists every problem of the environment, one a line, and repeats no value. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

/** Throws ConfigError. */
export function loadSignerConfig(environment: Environment): SignerConfig {
  return load(SignerVariables, environment, ['SIGNER_PIN']);
}

/** The configuration of the command line tool. Throws ConfigError. */
export function loadToolConfig(environment: Environment): ToolConfig {
  return load(ToolVariables, environment, ['SIGNER_PIN', 'SIGNER_SO_PIN']);
}

/** A secret may stand in a file that `<name>_FILE` names, and then is read from there. */
function load<Schema extends z.ZodType>(
  schema: Schema,
  environment: Environment,
  secrets: readonly string[],
): z.output<Schema> {
  const problems: string[] = [];
  const variables = { ...environment };
  for (const name of secrets) {
    const path = environment[`${name}_FILE`];
    if (path === undefined) continue;
    try {
      variables[name] = readFileSync(path, 'utf8').trimEnd();
    } catch (error) {
      problems.push(`${name}_FILE: ${(error as NodeJS.ErrnoException).code}`);
    }
  }
  const result = schema.safeParse(variables);
  const issues = result.success ? [] : result.error.issues;
  problems.push(...issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
  if (!result.success || problems.length > 0) throw new ConfigError(problems);
  return result.data;
}
