import type { DBSchema } from 'idb';
import type { StoredObject } from '../sync/stores/stored-object.ts';
import type { DatabaseFormat, Transaction } from './database-format.ts';

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

export type SyncTransaction = Transaction<SyncSchema>;

export const syncFormat: DatabaseFormat<SyncSchema> = {
  version: 1,
  stores: [{ name: 'meta' }, { name: 'objects' }],
};
