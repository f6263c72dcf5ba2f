import type { ConflictType } from '../../db/tables/sync.ts';
import type { JsonObject } from '../../json/json-values.ts';
import type { ResolvedPatch } from './edits.ts';
import { mergePatch, mergeRemoval, type Since } from './merge.ts';

/** The server's state of an object. If `data` is null, the object is a tombstone. */
export interface ServerObject {
  readonly version: number;
  readonly data: JsonObject | null;
}

/** A change that a client made to the version `baseVersion` of an object. */
interface Write {
  readonly baseVersion: number;
  /** The patch to the server's data; null to delete the object. */
  readonly patch: ResolvedPatch | null;
}

export interface Accepted {
  /** The object's new data; null for a deletion. */
  readonly data: JsonObject | null;
  /** JSON Pointers of the changed places; null for a deletion. */
  readonly changed: readonly string[] | null;
  /**
   * The rules by which the write was merged; null if the object has not changed since
   * `baseVersion`.
   */
  readonly ruleApplied: string | null;
}

export interface Refused {
  readonly conflictType: ConflictType;
  readonly fields: readonly string[];
}

/**
 * Decides whether a write to an object is accepted. Returns the object's new data, or the conflict.
 */
export function decide(object: ServerObject, write: Write, since: Since): Accepted | Refused {
  if (object.data === null) return { conflictType: 'DELETED_ON_SERVER', fields: [] };
  if (write.baseVersion > object.version) return { conflictType: 'VERSION_AHEAD', fields: [] };
  const merged =
    write.patch === null
      ? { data: null, changed: null, ...mergeRemoval(object.data, since) }
      : mergePatch(object.data, write.patch, since);
  if ('conflicts' in merged) {
    return { conflictType: 'CONCURRENT_MODIFICATION', fields: merged.conflicts };
  }
  const isBehind = write.baseVersion < object.version;
  return { ...merged, ruleApplied: isBehind ? merged.ruleApplied : null };
}
