import type { MasterKeys } from '../keys/master-keys.ts';
import type { Counts } from './exchange/exchange.ts';
import type { JsonObject } from './objects/json.ts';
import type { OpenObject, PublicFields } from './objects/object-encryption.ts';
import type { DeletionResolver, Resolver } from './objects/resolver.ts';
import type { SyncStore } from './stores/store.ts';
import type { QueuedWrite } from './stores/stored-object.ts';
import type { HistoryEntry } from './exchange/requests.ts';

export interface SyncOptions extends MasterKeys {
  /** Id of the device that the login session is bound to. */
  readonly deviceId: string;
  /** Version of the schema of the application's data; the vault accepts a range of versions. */
  readonly schemaVersion: number;
  readonly store: SyncStore;
  /**
   * Fields in plaintext, for the vault's merge rules MAX, MIN and UNION. The fields MUST be the
   * same on all devices and MUST never change.
   */
  readonly publicFields?: PublicFields;
  /**
   * Resolves conflicts; may be called for several objects concurrently. The default is
   * `defaultResolver`.
   */
  readonly resolve?: Resolver;
  /** Decides on changes of deleted objects. The default keeps them, and `pending` lists them. */
  readonly resolveDeletion?: DeletionResolver;
  readonly now?: () => Date;
}

export interface SyncedObject {
  readonly objectId: string;
  readonly objectType: string | undefined;
  readonly data: JsonObject;
  /** Version of the object in the vault; undefined until the vault has the object. */
  readonly version: number | undefined;
  /** Whether the object has changes that the vault has not settled. */
  readonly isPending: boolean;
}

/**
 * A change that the vault has not settled. A change with `refusal` is not sent again until the
 * object is changed or `retry` is called.
 */
export interface PendingWrite extends Pick<QueuedWrite, 'kind' | 'refusal'> {
  readonly objectId: string;
  readonly changedAt: Date;
}

export interface SyncReport extends Counts {
  /** Number of objects that were new on this device, changed or deleted. */
  readonly received: number;
}

/**
 * The user's objects on one device, synchronised with the user's other devices. Everything works
 * offline except `sync`, `history` and `export`. Methods that change something throw what
 * `SyncStore.save` throws.
 */
export interface Sync {
  /** Returns the ids of all objects that are not deleted. */
  list(): string[];
  /**
   * Decrypts an object. Resolves with undefined if the object is missing or deleted. Throws
   * invalid_leaf if it cannot be decrypted.
   */
  get(objectId: string): Promise<SyncedObject | undefined>;
  /**
   * Creates an object and resolves with its id once it is saved on this device. Throws TypeError
   * for data or a type that cannot be stored.
   */
  create(object: { readonly data: JsonObject; readonly objectType?: string }): Promise<string>;
  /**
   * Replaces the data of an object by the result of `edit`; only the difference is sent. Resolves
   * once the change is saved on this device. Throws RangeError for a missing object, TypeError for
   * data that cannot be stored, and invalid_leaf.
   */
  change(objectId: string, edit: (data: JsonObject) => JsonObject): Promise<void>;
  /**
   * Removes an object. Resolves once the removal is saved on this device. Throws RangeError for a
   * missing object.
   */
  remove(objectId: string): Promise<void>;
  /**
   * Synchronises with the vault: fetches the changes of other devices, then sends the changes of
   * this device, encrypted anew if they were queued under an earlier master key. Only one
   * synchronisation runs at a time: all calls during a synchronisation share one more, which
   * follows it. Throws master_key_outdated after a rekey, until the store is opened with the new
   * master keys. Throws what `Http` throws, VaultError if the session, the device or the schema
   * version is refused, and what the resolvers throw; unsent changes are kept for the next time.
   * Throws RolledBackError if the vault shows an object that the user's devices and the vault's
   * rules cannot have made, or an older one than this device knows, object_unlisted if somebody who
   * has only an earlier master key can have made a part of it, and invalid_leaf; all other objects
   * were synchronised then. Throws RolledBackError without an id, and nothing else happens, if the
   * vault lost changes.
   * @param options.acceptRestored whether the user accepts older states than those that this device
   *   knows, after a backup of the vault was restored. Everything is read again. Ask the user
   *   first; `VaultSession.listRestores` shows what the vault has sealed about it.
   */
  sync(options?: { readonly acceptRestored?: boolean }): Promise<SyncReport>;
  /** Returns the changes that the vault has not settled, oldest first for each object. */
  pending(): PendingWrite[];
  /** Allows refused changes of an object to be sent once more. */
  retry(objectId: string): Promise<void>;
  /**
   * Discards the changes of an object that were not sent. Keeps a change that may have been sent.
   */
  discard(objectId: string): Promise<void>;
  /**
   * Calls `listener` with the ids of objects that may have changed. Returns the function that
   * unsubscribes it.
   */
  subscribe(listener: (objectIds: readonly string[]) => void): () => void;
  /**
   * Yields every write of an object with its outcome, oldest first. Throws VaultError 404
   * not_found.
   */
  history(objectId: string): AsyncGenerator<HistoryEntry, void, void>;
  /**
   * Resolves with an object in plaintext, and its versions. Throws VaultError 404 not_found, and
   * what `sync` throws about one object.
   */
  export(objectId: string): Promise<SyncExport>;
}

export interface SyncExport extends Pick<OpenObject, 'objectType' | 'data'> {
  readonly objectId: string;
  readonly version: number;
  readonly exportedAt: string;
  readonly history: readonly {
    readonly version: number;
    readonly timestamp: string;
    readonly deviceId: string;
  }[];
}
