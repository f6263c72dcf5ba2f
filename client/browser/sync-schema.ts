import type { DBSchema, IDBPTransaction } from 'idb';
import type { StoredObject } from '../sync/stores/stored-object.ts';

export const formatVersion = 1;
export const storeNames: ('meta' | 'objects')[] = ['meta', 'objects'];

export interface SyncSchema extends DBSchema {
  objects: {
    /** The object's id. */
    key: string;
    /** Objects are read in the order of their ordinals. */
    value: { ordinal: number; object: StoredObject };
  };
  /**
   * How far the vault's changes were read; a tag of the master key that the objects are under; and the
   * client that has the database, as an id that it made.
   */
  meta: { key: 'cursor' | 'owner' | 'holder'; value: string };
}

export type SyncTransaction = IDBPTransaction<SyncSchema, typeof storeNames, 'readwrite'>;
