import type { ConflictType } from '../../db/tables/sync.ts';
import type { JsonObject } from './json.ts';
import { mergePatch, mergeRemoval, type Since } from './merge.ts';

/** An object as it is on the server; without data it is a tombstone. */
export interface ServerObject {
  readonly version: number;
  readonly data: JsonObject | null;
}

/** A change that a client made of a version. */
interface Write {
  readonly baseVersion: number;
  /** A merge patch, or null to delete the object. */
  readonly delta: JsonObject | null;
}

export interface Accepted {
  /** Null where the object is deleted. */
  readonly data: JsonObject | null;
  /** JSON Pointers; null where the object is deleted. */
  readonly changed: readonly string[] | null;
  /** Null where nobody had changed the object since. */
  readonly ruleApplied: string | null;
}

export interface Refused {
  readonly conflictType: ConflictType;
  readonly fields: readonly string[];
}

/** What a write makes of the object. */
export function decide(object: ServerObject, write: Write, since: Since): Accepted | Refused {
  if (object.data === null) return { conflictType: 'DELETED_ON_SERVER', fields: [] };
  if (write.baseVersion > object.version) return { conflictType: 'VERSION_AHEAD', fields: [] };
  const merged =
    write.delta === null
      ? { data: null, changed: null, ...mergeRemoval(object.data, since) }
      : mergePatch(object.data, write.delta, since);
  if ('conflicts' in merged) {
    return { conflictType: 'CONCURRENT_MODIFICATION', fields: merged.conflicts };
  }
  const isBehind = write.baseVersion < object.version;
  return { ...merged, ruleApplied: isBehind ? merged.ruleApplied : null };
}
