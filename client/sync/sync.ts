import type { MasterKeys } from '../keys/master-keys.ts';
import type { Counts } from './exchange/exchange.ts';
import type { JsonObject } from './objects/json.ts';
import type { OpenObject, PublicFields } from './objects/object-encryption.ts';
import type { DeletionResolver, Resolver } from './objects/resolver.ts';
import type { SyncStore } from './stores/store.ts';
import type { QueuedWrite } from './stores/stored-object.ts';
import type { HistoryEntry } from './exchange/requests.ts';

export interface SyncOptions extends MasterKeys {
  /** The device that the session is bound to. */
  readonly deviceId: string;
  /** Of the application's data; the vault takes those of its range. */
  readonly schemaVersion: number;
  readonly store: SyncStore;
  /** The same for all devices, for ever; what the vault's rules MAX, MIN and UNION look at. */
  readonly publicFields?: PublicFields;
  /** May be asked for several objects at once. By default a change wins, of two the later sent. */
  readonly resolve?: Resolver;
  /** By default the changes are kept, and `pending` shows them. */
  readonly resolveDeletion?: DeletionResolver;
  readonly now?: () => Date;
}

export interface SyncedObject {
  readonly objectId: string;
  readonly objectType: string | undefined;
  readonly data: JsonObject;
  /** Undefined until the vault has it. */
  readonly version: number | undefined;
  /** Whether it has changes that the vault has not answered. */
  readonly isPending: boolean;
}

export interface PendingWrite extends Pick<QueuedWrite, 'kind' | 'refusal'> {
  readonly objectId: string;
  readonly changedAt: Date;
}

export interface SyncReport extends Counts {
  /** Objects that were new here, changed or deleted. */
  readonly received: number;
}

/** The objects of a user on one device, which others share. Works offline but for what says so. */
export interface Sync {
  list(): string[];
  /** Undefined for what is not there or deleted. Throws invalid_leaf for what does not open. */
  get(objectId: string): Promise<SyncedObject | undefined>;
  /** Resolves to the id once the object is kept here for good. TypeError for what is no JSON. */
  create(object: { data: JsonObject; objectType?: string }): Promise<string>;
  /**
   * Replaces the data by what `edit` makes of it, and sends only what differs. Resolves once it is
   * kept here for good. RangeError for what is not there; TypeError for what is no JSON.
   */
  change(objectId: string, edit: (data: JsonObject) => JsonObject): Promise<void>;
  /** Throws RangeError for what is not there. */
  remove(objectId: string): Promise<void>;
  /**
   * Online: takes what others did, then sends what was done here. One at a time; called meanwhile, it
   * runs once more. Throws what `Http` throws, and VaultError where the session, the device or the
   * schema version is refused: all that was not sent stays, for the next time.
   */
  sync(): Promise<SyncReport>;
  /** What was not answered, and with `refusal` what is not sent again as it is. */
  pending(): PendingWrite[];
  /** Lets refused writes of an object be sent once more. */
  retry(objectId: string): Promise<void>;
  /** Drops what was not sent of an object's changes. */
  discard(objectId: string): Promise<void>;
  /** Calls back with the ids of objects that may look different. Answers how to end it. */
  subscribe(listener: (objectIds: readonly string[]) => void): () => void;
  /** Online: every write of an object and what became of it, oldest first. VaultError 404. */
  history(objectId: string): AsyncGenerator<HistoryEntry, void, void>;
  /** Online: an object and its versions, with the data in plaintext. VaultError 404. */
  export(objectId: string): Promise<SyncExport>;
}

export interface SyncExport extends Pick<OpenObject, 'objectType' | 'data'> {
  readonly objectId: string;
  readonly version: number;
  readonly exportedAt: string;
  readonly history: readonly { version: number; timestamp: string; deviceId: string }[];
}
