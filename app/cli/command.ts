import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { z } from 'zod';
import { PostgresUrl } from '../db/postgres-url.ts';

/** One command of `probatio`. */
export interface Command {
  /** The text that `--help` prints. */
  readonly usage: string;
  /** Resolves with the standard output. Throws UsageError (exit code 2) or another error (1). */
  run(args: readonly string[]): Promise<string>;
}

/** Thrown if a command was called incorrectly or lacks an environment variable. Exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Parses options by Node's `parseArgs`. Throws UsageError for a wrong or repeated option. */
export function parseOptions<const T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: T,
) {
  let repeated: string | undefined;
  try {
    const config = { args: [...args], options, allowPositionals: false, tokens: true } as const;
    const { values, tokens } = parseArgs(config);
    const named = tokens.flatMap((token) =>
      token.kind === 'option' && token.value !== undefined && options[token.name]?.multiple !== true
        ? [token.name]
        : [],
    );
    repeated = named.find((name, index) => named.indexOf(name) !== index);
    if (repeated === undefined) return values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  throw new UsageError(`--${repeated} is given more than once`);
}

/** Returns an environment variable. Throws UsageError if it is not set or empty. */
function requireVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new UsageError(`${name} is not set`);
  return value;
}

/** Returns a database URL from a variable. Throws UsageError, which never quotes the value. */
export function requireDatabaseUrl(name: string): string {
  requireVariable(name);
  return readVariable(name, PostgresUrl);
}

/**
 * Returns an environment variable as the schema parses it; an empty one counts as not set. Throws
 * UsageError, which never quotes the value.
 */
export function readVariable<Schema extends z.ZodType>(
  name: string,
  schema: Schema,
): z.output<Schema> {
  const value = process.env[name];
  const parsed = schema.safeParse(value === '' ? undefined : value);
  if (!parsed.success) throw new UsageError(`${name} ${parsed.error.issues[0]?.message}`);
  return parsed.data;
}
