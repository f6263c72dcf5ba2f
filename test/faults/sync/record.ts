import type { JsonObject } from '../../../client/sync/objects/json.ts';
import type { WireWrite } from './network.ts';

/** The data of an object as somebody had it; undefined where it is not there. */
export type Seen = JsonObject | undefined;

/** What somebody at a device did to an object, on what they saw of it. */
export interface Act {
  readonly deviceId: string;
  readonly objectId: string;
  readonly seen: Seen;
  readonly after: Seen;
  readonly atMs: number;
  /** Whether the client has said that it is kept; else a crash came in between. */
  isKept: boolean;
}

/** What a device chose where it could not keep both. */
export interface Choice {
  readonly deviceId: string;
  readonly objectId: string;
  readonly pointer: string;
  readonly mine: unknown;
  readonly theirs: unknown;
  readonly result: unknown;
}

/** All that happened, as those saw it who did it, and as it went over the wire. */
export interface SyncRecord {
  readonly acts: Act[];
  readonly choices: Choice[];
  /** Objects whose changes a device gave up when another one had deleted them: `device object`. */
  readonly givenUp: Set<string>;
  /** What objects began with, also those whose id a crash kept from being told. */
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
