/**
 * Thrown for an environment with which a process cannot run. The message lists every problem, one
 * per line, and never contains the value of a variable.
 */
export class ConfigError extends Error {
  override name = 'ConfigError';

  /** @param problems Each as `VARIABLE: what is wrong; what to do`. */
  constructor(problems: readonly string[]) {
    super(`The configuration is not usable:\n  ${problems.join('\n  ')}`);
  }
}
