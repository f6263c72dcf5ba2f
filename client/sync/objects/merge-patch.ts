import { isBranch, isObject, isSame, keysOf, memberOf, type JsonObject } from './json.ts';
import { childOf, isWithin } from './json-pointer.ts';

/** Returns the result of a JSON Merge Patch (RFC 7396 §2); neither argument is changed. */
export function applyPatch(target: unknown, patch: JsonObject): JsonObject {
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key);
    else members.set(key, isObject(value) ? applyPatch(members.get(key), value) : value);
  }
  return Object.fromEntries(members);
}

/**
 * Returns the smallest patch from one object to another. A merge patch cannot set a member to null.
 */
export function patchBetween(before: JsonObject, after: JsonObject): JsonObject {
  const members: [string, unknown][] = [];
  for (const key of keysOf(before, after)) {
    const [from, to] = [memberOf(before, key), memberOf(after, key)];
    if (isSame(from, to)) continue;
    if (isObject(from) && isObject(to)) members.push([key, patchBetween(from, to)]);
    else members.push([key, to ?? null]);
  }
  return Object.fromEntries(members);
}

/** Returns whether every field that the patch changes has the same value in `before` and `now`. */
export function isApartFrom(patch: JsonObject, before: unknown, now: unknown): boolean {
  return Object.entries(patch).every(([key, value]) => {
    const [was, is] = [memberOf(before, key), memberOf(now, key)];
    if (isBranch(value) && isObject(was) && isObject(is)) return isApartFrom(value, was, is);
    return isSame(was, is);
  });
}

/**
 * Returns the part of a patch that concerns the fields at these pointers, fields below them, and
 * their ancestors.
 */
export function partOf(patch: JsonObject, pointers: readonly string[], at = ''): JsonObject {
  const members = Object.entries(patch).flatMap(([key, value]): [string, unknown][] => {
    const here = childOf(at, key);
    if (pointers.some((pointer) => isWithin(here, pointer))) return [[key, value]];
    if (!isBranch(value)) return pointers.some((p) => isWithin(p, here)) ? [[key, value]] : [];
    const part = partOf(value, pointers, here);
    return isBranch(part) ? [[key, part]] : [];
  });
  return Object.fromEntries(members);
}
