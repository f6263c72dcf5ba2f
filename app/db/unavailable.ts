import { AppError } from '../errors/app-error.ts';

/** Of the system, where no connection comes about or one breaks. */
const systemCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // A Unix socket while Postgres starts.
  'ENOENT',
]);

/**
 * SQLSTATEs of what may succeed later as it is: connections lost behind a pooler (08), a login or a
 * database that is not taken (28, 3D), no disk, memory or connections left (53), an I/O error (58), a
 * stop or a limit of time (57014, 57P), a standby (25006), a transaction that was idle or lasted (25P03,
 * 25P04), a serialization failure (40001), a commit of unknown outcome (40003), a deadlock (40P01), a
 * lock that was not waited for (55P03).
 */
const passing = /^(?:08|28|3D|53|58|57014|57P|25006|25P03|25P04|40001|40003|40P01|55P03)/;

/** Whether an error of a transaction says that Postgres is away, or cannot do now what it did before. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof AppError) return false;
  const { code = '' } = error as { code?: string };
  return (
    systemCodes.has(code) ||
    (code.length === 5 && passing.test(code)) ||
    /Connection terminated|not queryable|timeout exceeded when trying to connect/.test(
      error.message,
    ) ||
    isUnavailable(error.cause)
  );
}
