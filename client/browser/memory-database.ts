import type { DBSchema } from 'idb';
import { z } from 'zod';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import type { MemoryStore } from '../memory/storage/memory-store.ts';
import { connect, deleteDatabase, type Connection } from './connection.ts';
import type { DatabaseFormat } from './database-format.ts';
import { holdWebLock, waitForTabs } from './web-lock.ts';

interface MemorySchema extends DBSchema {
  /** The records, by the order in which they were written. */
  readonly records: { readonly key: number; readonly value: Bytes };
}

const format: DatabaseFormat<MemorySchema> = {
  version: 1,
  stores: [{ name: 'records', autoIncrement: true }],
};

const Records = z.array(z.instanceof(Uint8Array<ArrayBuffer>));

export interface MemoryDatabaseOptions {
  /** Name of the database. Use a different name for each account, for example the user's id. */
  readonly name: string;
  /** Aborting this signal ends the wait for other tabs. The default aborts after three seconds. */
  readonly signal?: AbortSignal;
}

export interface MemoryDatabase extends MemoryStore {
  /** Closes the database, so that another client can open it. */
  close(): void;
}

/**
 * Opens the store of what this browser remembers of the vault in IndexedDB. Close the store to let
 * another client open it. Throws store_in_use while another client has it open, and what `connect`
 * throws. All methods throw what `Connection.transact` throws; `load` also throws store_damaged. In
 * a browser without Web Locks, do not use it in two tabs at once: each would forget what the other
 * has seen.
 */
export async function openMemoryDatabase({
  name,
  signal = waitForTabs(),
}: MemoryDatabaseOptions): Promise<MemoryDatabase> {
  const release = await holdWebLock(`memory-database ${name}`, signal);
  try {
    const connection = await connect(name, format, { signal, onLost: release });
    return createStore(connection, release);
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Deletes the store with this name, so that this browser remembers nothing of the vault. Throws
 * store_blocked if other tabs have not closed the store when the signal aborts, and
 * store_unavailable.
 */
export async function forgetMemoryDatabase(
  name: string,
  signal: AbortSignal = waitForTabs(),
): Promise<void> {
  await deleteDatabase(name, signal);
}

function createStore(connection: Connection<MemorySchema>, release: () => void): MemoryDatabase {
  return {
    async load() {
      const found = await connection.transact((transaction) =>
        transaction.objectStore('records').getAll(),
      );
      const records = Records.safeParse(found);
      if (!records.success) throw new ClientError('store_damaged');
      return records.data;
    },

    async append(record) {
      await connection.transact((transaction) => transaction.objectStore('records').add(record));
    },

    async replace(record) {
      await connection.transact(async (transaction) => {
        const records = transaction.objectStore('records');
        await Promise.all([records.clear(), records.add(record)]);
      });
    },

    close() {
      connection.close();
      release();
    },
  };
}
