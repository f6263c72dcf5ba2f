import { ClientError } from '../errors/client-error.ts';

/**
 * Milliseconds to wait for other tabs: a tab that was closed or reloaded may take a moment to
 * release the store.
 */
const patienceLimitMs = 3_000;

/** Returns a signal that ends the wait for other tabs. */
export function waitForTabs(): AbortSignal {
  return AbortSignal.timeout(patienceLimitMs);
}

/**
 * Acquires the Web Lock of this name, which spans the tabs and workers of an origin, and resolves
 * with the function that releases it. The browser also releases the lock when the tab closes or
 * crashes. In a browser without Web Locks, resolves without locking anything. Throws store_in_use
 * if another client holds the lock when the signal aborts.
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
  // This promise also rejects if another client steals the lock later. That is ignored here,
  // because the store detects by its holder id that another client has taken it over.
  locks.request(name, { signal }, hold).catch(granted.reject);
  try {
    await granted.promise;
  } catch (cause) {
    throw new ClientError(signal.aborted ? 'store_in_use' : 'store_unavailable', { cause });
  }
  return released.resolve;
}
