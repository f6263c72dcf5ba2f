import { deleteDB, openDB } from 'idb';
import { ClientError, type ClientErrorCode } from '../errors/client-error.ts';
import { toStoreError } from './store-error.ts';
import { storeNames, formatVersion, type SyncSchema, type SyncTransaction } from './sync-schema.ts';
import { runTransaction } from './transaction.ts';

export type Connection = Awaited<ReturnType<typeof connect>>;

/**
 * Opens an IndexedDB database, or creates it. The connection closes when another tab deletes or
 * upgrades the database, or when the browser closes it. In these cases, `onLost` is called, and
 * later transactions throw store_deleted, store_newer or store_closed. Throws store_newer,
 * store_full or store_unavailable if the database cannot be opened, and store_blocked if it is not
 * open yet when the signal aborts.
 */
export async function connect(
  name: string,
  { signal, onLost }: { readonly signal: AbortSignal; readonly onLost: () => void },
) {
  let end: ClientErrorCode | undefined;
  const opening = open(name, (code) => {
    close(code);
    onLost();
  });

  /** Closes the database, even if it opens only after the caller has stopped waiting. */
  function close(code: ClientErrorCode): void {
    end ??= code;
    opening.then((database) => database.close()).catch(() => {});
  }

  const database = await unlessAborted(opening, signal).catch((error: unknown) => {
    close('store_closed');
    throw error;
  });
  return {
    /**
     * Runs `act` in a transaction that becomes durable as a whole or not at all. `act` must await
     * requests of the transaction and nothing else. Throws what `act` throws, and ClientError in
     * place of an error of IndexedDB.
     */
    async transact<T>(act: (transaction: SyncTransaction) => Promise<T>): Promise<T> {
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
    /**
     * Closes the database. Transactions in progress finish, and later calls of `transact` throw
     * store_closed.
     */
    close: (): void => close('store_closed'),
  };
}

/**
 * Deletes a database. Throws store_blocked if other tabs still have it open when the signal aborts;
 * the browser then deletes the database once those tabs have closed it.
 */
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
