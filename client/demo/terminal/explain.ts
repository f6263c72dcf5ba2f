import { ClientError } from '../../errors/client-error.ts';
import { VaultError } from '../../errors/vault-error.ts';
import { DemoError } from './demo-error.ts';

/** Returns the message that the demo prints for an error. */
export function explain(error: unknown, baseUrl: string): string {
  if (error instanceof DemoError) return error.message;
  if (error instanceof ClientError && error.code === 'network_error') {
    const reason = rootCause(error);
    return `no vault answers at ${baseUrl} (${reason}): run npm start, or set PROBATIO_URL`;
  }
  if (error instanceof ClientError && error.code === 'session_ended') {
    return 'the login session was ended elsewhere: run the same command to resume';
  }
  if (error instanceof ClientError) return error.message;
  if (error instanceof VaultError) {
    const { status, code, message, requestId } = error;
    return `the vault responded ${status} ${code}: ${message} (request ${requestId ?? 'unknown'})`;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Returns the message of the innermost cause, such as "connect ECONNREFUSED …": fetch reports the
 * reason of a failure only as a cause.
 */
function rootCause(error: Error): string {
  return error.cause instanceof Error ? rootCause(error.cause) : error.message;
}
