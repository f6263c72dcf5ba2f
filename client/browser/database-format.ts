import type { DBSchema, IDBPTransaction, StoreNames } from 'idb';

/** A database's version, and the names of its object stores. */
export interface DatabaseFormat<S extends DBSchema> {
  readonly version: number;
  readonly stores: readonly {
    readonly name: StoreNames<S>;
    /** Numbers the values of a store without keys. */
    readonly autoIncrement?: boolean;
  }[];
}

/** A transaction of all object stores. */
export type Transaction<S extends DBSchema> = IDBPTransaction<S, StoreNames<S>[], 'readwrite'>;
