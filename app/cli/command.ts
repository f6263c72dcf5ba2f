import { parseArgs, type ParseArgsConfig } from 'node:util';

/** The end of a command with an exit code of its own. */
export interface Ended {
  /** The standard output. */
  readonly output: string;
  readonly exitCode: number;
}

/** One command of `probatio`. */
export interface Command {
  /** The text that `--help` prints. */
  readonly usage: string;
  /**
   * Resolves with the standard output, and with the exit code unless it is 0. Throws UsageError
   * (exit code 2), ConfigError (78) or another error (1).
   */
  run(args: readonly string[]): Promise<string | Ended>;
}

/** Thrown if a command was called incorrectly. Exit code 2. */
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
