import { terminationLogOf, writeTerminationLog } from '../log/termination-log.ts';
import { ConfigError } from '../protocol/process/config-error.ts';
import { exitCodes } from '../protocol/process/exit-codes.ts';

/** Ends a process that cannot start with its settings, and says why. Rethrows another error. */
export function refuseStart(error: unknown): never {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  writeTerminationLog(terminationLogOf(process.env), error.message);
  return process.exit(exitCodes.refused);
}
