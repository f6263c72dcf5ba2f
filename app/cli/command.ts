import { parseArgs, type ParseArgsConfig } from 'node:util';
import { PostgresUrl } from '../db/postgres-url.ts';

/** One command of `probatio`. */
export interface Command {
  /** What `--help` prints. */
  readonly usage: string;
  /** Throws UsageError, or any other error to end with 1. Answers what goes to standard output. */
  run(args: readonly string[]): Promise<string>;
}

/** The command was not called as its usage says, or its environment lacks something. Ends with 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** `parseArgs` of Node, with UsageError for what it refuses, and for a value that another would replace. */
export function parseOptions<const T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: T,
) {
  let repeated: string | undefined;
  try {
    const config = { args: [...args], options, allowPositionals: false, tokens: true } as const;
    const { values, tokens } = parseArgs(config);
    const named = tokens.flatMap((token) =>
      token.kind === 'option' && token.value !== undefined && !options[token.name]?.multiple
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

/** Throws UsageError, naming the variable, where it is not set or empty. */
function requireVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new UsageError(`${name} is not set`);
  return value;
}

/** The same for a variable that must name a database. Nothing of its value is repeated. */
export function requireDatabaseUrl(name: string): string {
  const { data, error } = PostgresUrl.safeParse(requireVariable(name));
  if (data === undefined) throw new UsageError(`${name} ${error?.issues[0]?.message}`);
  return data;
}
