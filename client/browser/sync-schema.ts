import type { DBSchema, IDBPTransaction } from 'idb';
import type { StoredObject } from '../sync/stores/stored-object.ts';

export const formatVersion = 1;
export const storeNames: ('meta' | 'objects')[] = ['meta', 'objects'];

export interface SyncSchema extends DBSchema {
  readonly objects: {
    /** The id of the object. */
    readonly key: string;
    /** `load` returns objects in the order of their ordinals. */
    readonly value: { readonly ordinal: number; readonly object: StoredObject };
  };
  /**
   * `cursor` is the position up to which the vault's changes were read, `owner` is a tag of the
   * master key under which the objects are encrypted, and `holder` is the random id of the client
   * that holds the database.
   */
  readonly meta: { readonly key: 'cursor' | 'owner' | 'holder'; readonly value: string };
}

export type SyncTransaction = IDBPTransaction<SyncSchema, typeof storeNames, 'readwrite'>;
