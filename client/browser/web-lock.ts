import { ClientError } from '../errors/client-error.ts';

/**
 * Holds the Web Lock of this name, across the tabs and workers of an origin, until what it answers is
 * called. A tab that is closed or dies lets go of it. Holds nothing where a browser has no Web Locks.
 * Throws store_in_use if another has it when the signal aborts.
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
  // Rejects later, too, if another steals the lock: the store finds out by itself.
  locks.request(name, { signal }, hold).catch(granted.reject);
  try {
    await granted.promise;
  } catch (cause) {
    throw new ClientError(signal.aborted ? 'store_in_use' : 'store_unavailable', { cause });
  }
  return released.resolve;
}
