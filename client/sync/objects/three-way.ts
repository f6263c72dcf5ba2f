import { isObject, isSame, keysOf, memberOf, type JsonObject } from './json.ts';
import { childOf } from './json-pointer.ts';

/** A field that two sides changed to different values; undefined stands for a missing value. */
export interface Clash {
  /** JSON Pointer (RFC 6901). */
  readonly pointer: string;
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
}

/** Resolves with the value that a field gets; undefined removes the field. */
export type Settle = (clash: Clash) => Promise<unknown>;

/**
 * Merges the changes of two sides to one object, leaf by leaf. If both sides changed a field to
 * different values, merges the values recursively if both are objects; otherwise `settle` decides.
 */
export async function mergeThreeWay(
  base: JsonObject,
  mine: JsonObject,
  theirs: JsonObject,
  settle: Settle,
): Promise<JsonObject> {
  return mergeMembers(base, mine, theirs, settle, '');
}

async function mergeMembers(
  base: unknown,
  mine: JsonObject,
  theirs: JsonObject,
  settle: Settle,
  at: string,
): Promise<JsonObject> {
  const members: [string, unknown][] = [];
  for (const key of keysOf(theirs, mine)) {
    const clash = {
      pointer: childOf(at, key),
      base: memberOf(base, key),
      mine: memberOf(mine, key),
      theirs: memberOf(theirs, key),
    };
    const value = await mergePlace(clash, settle);
    if (value !== undefined) members.push([key, value]);
  }
  return Object.fromEntries(members);
}

async function mergePlace(clash: Clash, settle: Settle): Promise<unknown> {
  const { pointer, base, mine, theirs } = clash;
  if (isSame(mine, theirs) || isSame(mine, base)) return theirs;
  if (isSame(theirs, base)) return mine;
  if (isObject(mine) && isObject(theirs)) return mergeMembers(base, mine, theirs, settle, pointer);
  return settle(clash);
}
