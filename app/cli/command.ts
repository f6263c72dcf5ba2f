import { parseArgs, type ParseArgsConfig } from 'node:util';

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

/** `parseArgs` of Node, with UsageError for what it refuses. */
export function parseOptions<const T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: T,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Throws UsageError, naming the variable, where it is not set or empty. */
export function requireVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new UsageError(`${name} is not set`);
  return value;
}
