import { ClientError } from '../errors/client-error.ts';

/**
 * Acquires the Web Lock of this name, which spans the tabs and workers of an origin, and resolves
 * with the function that releases it. The browser releases it when the tab closes or crashes. In a
 * browser without Web Locks nothing is locked. Throws store_in_use if another client holds the lock
 * when the signal aborts.
 */
export async function holdWebLock(name: string, signal: AbortSignal): Promise<() => void> {
  const { locks }: Partial<Pick<Navigator, 'locks'>> = navigator;
  if (locks === undefined) return () => {};
  const granted = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const hold = () => {
    granted.resolve();
    return released.promise;
  };
  // The promise also rejects if the lock is stolen later; the store detects that by itself.
  locks.request(name, { signal }, hold).catch(granted.reject);
  try {
    await granted.promise;
  } catch (cause) {
    throw new ClientError(signal.aborted ? 'store_in_use' : 'store_unavailable', { cause });
  }
  return released.resolve;
}
