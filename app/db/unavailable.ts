import { AppError } from '../errors/app-error.ts';

/** Codes of system errors for connections that cannot be opened or that broke. */
const systemCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  // The Unix socket does not exist while Postgres starts.
  'ENOENT',
]);

/**
 * SQLSTATEs of errors for which a retry may succeed: a connection lost behind a pooler (08), a
 * statement that a pooler prepared elsewhere (26000, 42P05), a refused login or database (28, 3D),
 * no disk space, memory or connections left (53), an I/O error (58), a statement timeout or a
 * shutdown (57014, 57P), a standby (25006), an idle or overlong transaction (25P03, 25P04), a
 * serialization failure (40001), a commit of unknown outcome (40003), a deadlock (40P01), and a
 * lock that was not available (55P03).
 */
const transientStates =
  /^(?:08|26000|28|3D|42P05|53|58|57014|57P|25006|25P03|25P04|40001|40003|40P01|55P03)/;

/** The words of the driver for connections that broke, or that could not be opened. */
const connectionWords =
  /Connection terminated|not queryable|timeout exceeded when trying to connect|SSL connection/;

/** Codes of Node and OpenSSL for a connection by TLS that could not be opened. */
const tlsCodes = /^(?:CERT_|DEPTH_ZERO_|EPROTO|ERR_SSL_|ERR_TLS_|SELF_SIGNED_|UNABLE_TO_)/;

/** Returns whether a transaction failed because Postgres is unreachable or temporarily unable. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof AppError) return false;
  const { code = '' } = error as { code?: string };
  return (
    systemCodes.has(code) ||
    (code.length === 5 && transientStates.test(code)) ||
    tlsCodes.test(code) ||
    connectionWords.test(error.message) ||
    isUnavailable(error.cause)
  );
}
