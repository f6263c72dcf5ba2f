import { deleteDB, openDB } from 'idb';
import { ClientError, type ClientErrorCode } from '../errors/client-error.ts';
import { toStoreError } from './store-error.ts';
import { storeNames, formatVersion, type SyncSchema, type SyncTransaction } from './sync-schema.ts';
import { runTransaction } from './transaction.ts';

export interface Connection {
  /**
   * All of what `act` does becomes durable, or nothing of it. It waits for requests of the transaction
   * and for nothing else. Throws what `act` throws, and ClientError for what IndexedDB throws.
   */
  transact<T>(act: (transaction: SyncTransaction) => Promise<T>): Promise<T>;
  /** What has begun still ends. All that comes later throws store_closed. */
  close(): void;
}

/**
 * Opens a database, a new one where there is none. It gives way to whoever deletes it or makes a newer
 * version of it: then, and where the browser closes it, `onLost` is called and transactions throw
 * store_deleted, store_newer or store_closed. Throws store_newer, store_full, store_unavailable, and
 * store_blocked if it is not open when the signal aborts.
 */
export async function connect(
  name: string,
  { signal, onLost }: { signal: AbortSignal; onLost: () => void },
): Promise<Connection> {
  let end: ClientErrorCode | undefined;
  const opening = open(name, (code) => {
    close(code);
    onLost();
  });

  /** Also what opens only when nobody waits for it any more. */
  function close(code: ClientErrorCode): void {
    end ??= code;
    opening.then((database) => database.close()).catch(() => {});
  }

  const database = await unlessAborted(opening, signal).catch((error: unknown) => {
    close('store_closed');
    throw error;
  });
  return {
    async transact(act) {
      if (end !== undefined) throw new ClientError(end);
      try {
        const transaction = database.transaction<typeof storeNames, 'readwrite'>(
          storeNames,
          'readwrite',
          {
            durability: 'strict',
          },
        );
        return await runTransaction(transaction, act);
      } catch (error) {
        throw toStoreError(error);
      }
    },
    close: () => close('store_closed'),
  };
}

/** Throws store_blocked if others have it when the signal aborts. It goes once they do not. */
export async function deleteDatabase(name: string, signal: AbortSignal): Promise<void> {
  const remove = async () => deleteDB(name);
  await unlessAborted(remove(), signal);
}

async function open(name: string, onLost: (code: ClientErrorCode) => void) {
  return openDB<SyncSchema>(name, formatVersion, {
    upgrade(database) {
      for (const store of storeNames) database.createObjectStore(store);
    },
    blocking: (_, newVersion) => onLost(newVersion === null ? 'store_deleted' : 'store_newer'),
    terminated: () => onLost('store_closed'),
  });
}

async function unlessAborted<T>(waiting: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(new ClientError('store_blocked'));
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([waiting, aborted.promise]);
  } catch (error) {
    throw toStoreError(error);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
