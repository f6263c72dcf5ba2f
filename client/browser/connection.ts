import { deleteDB, openDB, type DBSchema } from 'idb';
import { ClientError, type ClientErrorCode } from '../errors/client-error.ts';
import type { DatabaseFormat, Transaction } from './database-format.ts';
import { toStoreError } from './store-error.ts';
import { runTransaction } from './transaction.ts';

export interface Connection<S extends DBSchema> {
  /**
   * Runs `act` in a transaction that becomes durable as a whole or not at all. `act` must await
   * requests of the transaction and nothing else. Throws what `act` throws, and ClientError in
   * place of an error of IndexedDB.
   */
  transact<T>(act: (transaction: Transaction<S>) => Promise<T>): Promise<T>;
  /**
   * Closes the database. Transactions in progress finish, and later calls of `transact` throw
   * store_closed.
   */
  close(): void;
}

/**
 * Opens an IndexedDB database, or creates it. The connection closes when another tab deletes or
 * upgrades the database, or when the browser closes it. In these cases, `onLost` is called, and
 * later transactions throw store_deleted, store_newer or store_closed. Throws store_newer,
 * store_full or store_unavailable if the database cannot be opened, and store_blocked if it is not
 * open yet when the signal aborts.
 */
export async function connect<S extends DBSchema>(
  name: string,
  format: DatabaseFormat<S>,
  { signal, onLost }: { readonly signal: AbortSignal; readonly onLost: () => void },
): Promise<Connection<S>> {
  let end: ClientErrorCode | undefined;
  const opening = open(name, format, (code) => {
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
    async transact(act) {
      if (end !== undefined) throw new ClientError(end);
      try {
        const names = format.stores.map((store) => store.name);
        const options = { durability: 'strict' } as const;
        return await runTransaction(database.transaction(names, 'readwrite', options), act);
      } catch (error) {
        throw toStoreError(error);
      }
    },
    close: () => close('store_closed'),
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

async function open<S extends DBSchema>(
  name: string,
  { version, stores }: DatabaseFormat<S>,
  onLost: (code: ClientErrorCode) => void,
) {
  return openDB<S>(name, version, {
    upgrade(database) {
      for (const { name, autoIncrement = false } of stores) {
        database.createObjectStore(name, { autoIncrement });
      }
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
