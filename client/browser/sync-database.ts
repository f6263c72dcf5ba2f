import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { StoredObject } from '../sync/stores/stored-object.ts';
import type { SavedChanges, SyncStore } from '../sync/stores/store.ts';
import { connect, deleteDatabase, type Connection } from './connection.ts';
import { takeStore, verifyHolder } from './store-holder.ts';
import { syncFormat, type SyncSchema, type SyncTransaction } from './sync-schema.ts';
import { holdWebLock, waitForTabs } from './web-lock.ts';

const Saved = z.object({
  records: z.array(z.object({ ordinal: z.int(), object: StoredObject })),
  cursor: z.string().optional(),
});

export interface SyncDatabaseOptions extends MasterKeys {
  /** Name of the database. Use a different name for each account, for example the user's id. */
  readonly name: string;
  /** Aborting this signal ends the wait for other tabs. The default aborts after three seconds. */
  readonly signal?: AbortSignal;
}

export interface SyncDatabase extends SyncStore {
  /** Closes the database, so that another client can open it. */
  close(): void;
}

/**
 * Opens the store of a device's synchronised objects in IndexedDB. Close the store to let another
 * client open it. Throws store_in_use while another client has it open, store_of_another_user if it
 * was created under other master keys, and what `connect` throws. `load` and `save` throw what
 * `Connection.transact` throws, and store_in_use if another client has taken the store over, which
 * can happen in browsers without Web Locks; `load` also throws store_damaged.
 */
export async function openSyncDatabase({
  name,
  signal = waitForTabs(),
  ...keys
}: SyncDatabaseOptions): Promise<SyncDatabase> {
  const release = await holdWebLock(`sync-database ${name}`, signal);
  let connection: Connection<SyncSchema> | undefined;
  try {
    connection = await connect(name, syncFormat, { signal, onLost: release });
    const holder = await takeStore(connection, keys);
    return createStore(connection, { holder, release });
  } catch (error) {
    connection?.close();
    release();
    throw error;
  }
}

/**
 * Deletes the store with this name, including changes that were not sent to the vault. A client
 * that has the store open can no longer use it. Throws store_blocked if other tabs have not closed
 * the store when the signal aborts, and store_unavailable.
 */
export async function forgetSyncDatabase(
  name: string,
  signal: AbortSignal = waitForTabs(),
): Promise<void> {
  await deleteDatabase(name, signal);
}

function createStore(
  connection: Connection<SyncSchema>,
  { holder, release }: { readonly holder: string; readonly release: () => void },
): SyncDatabase {
  /**
   * The ordinal of each object, by object id; `load` returns objects in the order of their
   * ordinals.
   */
  const ordinals = new Map<string, number>();
  let nextOrdinal = 0;

  function ordinalOf(objectId: string): number {
    const ordinal = ordinals.get(objectId) ?? nextOrdinal++;
    ordinals.set(objectId, ordinal);
    return ordinal;
  }

  const transact = <T>(act: (transaction: SyncTransaction) => Promise<T>) =>
    connection.transact(async (transaction) => {
      await verifyHolder(transaction, holder);
      return act(transaction);
    });

  return {
    async load() {
      const saved = Saved.safeParse(
        await transact(async (transaction) => ({
          records: await transaction.objectStore('objects').getAll(),
          cursor: await transaction.objectStore('meta').get('cursor'),
        })),
      );
      if (!saved.success) throw new ClientError('store_damaged');
      const records = saved.data.records.sort((one, other) => one.ordinal - other.ordinal);
      for (const { ordinal, object } of records) ordinals.set(object.objectId, ordinal);
      nextOrdinal = (records.at(-1)?.ordinal ?? -1) + 1;
      return { objects: records.map(({ object }) => object), cursor: saved.data.cursor };
    },

    async save({ objects, forgotten, cursor }) {
      const records = objects.map((object) => ({ ordinal: ordinalOf(object.objectId), object }));
      await transact(async (transaction) => {
        const store = transaction.objectStore('objects');
        await Promise.all([
          ...records.map(async (record) => store.put(record, record.object.objectId)),
          ...forgotten.map(async (objectId) => store.delete(objectId)),
          moveCursor(transaction, cursor),
        ]);
      });
      for (const objectId of forgotten) ordinals.delete(objectId);
    },

    close() {
      connection.close();
      release();
    },
  };
}

async function moveCursor(
  transaction: SyncTransaction,
  cursor: SavedChanges['cursor'],
): Promise<void> {
  const meta = transaction.objectStore('meta');
  if (cursor === null) await meta.delete('cursor');
  else if (cursor !== undefined) await meta.put(cursor, 'cursor');
}
