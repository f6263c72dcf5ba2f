import type { JsonObject } from '../../../client/sync/objects/json.ts';
import type { WireWrite } from './network.ts';

/** The data of an object as a device had it; undefined if the object does not exist there. */
export type Seen = JsonObject | undefined;

/** A change that a device made to an object, with the data it saw. */
export interface Act {
  readonly deviceId: string;
  readonly objectId: string;
  readonly seen: Seen;
  readonly after: Seen;
  readonly atMs: number;
  /** Whether the client acknowledged the change; false if a crash came first. */
  isKept: boolean;
}

/** A device's resolution of a conflict. */
export interface Choice {
  readonly deviceId: string;
  readonly objectId: string;
  readonly pointer: string;
  readonly mine: unknown;
  readonly theirs: unknown;
  readonly result: unknown;
}

/** Everything that happened, as the devices saw it and as it was sent. */
export interface SyncRecord {
  readonly acts: Act[];
  readonly choices: Choice[];
  /**
   * Objects, as `deviceId objectId`, whose changes a device dropped because another one had deleted
   * them.
   */
  readonly givenUp: Set<string>;
  /** Initial data of objects, including those whose id a crash kept from being recorded. */
  readonly begun: Seen[];
  readonly writes: WireWrite[];
}

export const createRecord = (): SyncRecord => ({
  acts: [],
  choices: [],
  givenUp: new Set(),
  begun: [],
  writes: [],
});
