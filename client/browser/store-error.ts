import { ClientError, type ClientErrorCode } from '../errors/client-error.ts';

const codes = new Map<string, ClientErrorCode>([
  ['NotFoundError', 'store_damaged'],
  ['QuotaExceededError', 'store_full'],
  ['VersionError', 'store_newer'],
]);

/** What IndexedDB throws, as this client's; store_unavailable for what it does not explain. */
export function toStoreError(cause: unknown): ClientError {
  if (cause instanceof ClientError) return cause;
  const code = cause instanceof DOMException ? codes.get(cause.name) : undefined;
  return new ClientError(code ?? 'store_unavailable', { cause });
}
