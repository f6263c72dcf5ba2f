import { ClientError, type ClientErrorCode } from '../errors/client-error.ts';

const codes = new Map<string, ClientErrorCode>([
  ['NotFoundError', 'store_damaged'],
  ['QuotaExceededError', 'store_full'],
  ['VersionError', 'store_newer'],
]);

/**
 * Converts an error of IndexedDB to a ClientError by the error's name; the default is
 * store_unavailable. Returns a ClientError unchanged.
 */
export function toStoreError(cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause;
  const code = cause instanceof DOMException ? codes.get(cause.name) : undefined;
  return new ClientError(code ?? 'store_unavailable', { cause });
}
