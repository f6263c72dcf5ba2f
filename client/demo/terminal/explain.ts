import { ClientError } from '../../errors/client-error.ts';
import { VaultError } from '../../errors/vault-error.ts';
import { DemoError } from './demo-error.ts';

/** What went wrong, for the user. */
export function explain(error: unknown, baseUrl: string): string {
  if (error instanceof DemoError) return error.message;
  if (error instanceof ClientError && error.code === 'network_error') {
    return `no vault answers at ${baseUrl} (${rootCause(error)}): run npm start, or set PROBATIO_URL`;
  }
  if (error instanceof ClientError && error.code === 'session_ended') {
    return 'the login was ended elsewhere: the same command goes on from here';
  }
  if (error instanceof ClientError) return error.message;
  if (error instanceof VaultError) {
    const { status, code, message, requestId } = error;
    return `the vault answered ${status} ${code}: ${message} (request ${requestId ?? 'unknown'})`;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Such as "connect ECONNREFUSED 127.0.0.1:8080": fetch hides it below its own error. */
function rootCause(error: Error): string {
  return error.cause instanceof Error ? rootCause(error.cause) : error.message;
}
