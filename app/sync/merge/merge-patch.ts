import { isObject, type JsonObject } from '../../json/json-values.ts';

/** Returns the result of a JSON Merge Patch (RFC 7396 §2); changes neither argument. */
export function applyPatch(target: unknown, patch: JsonObject): JsonObject {
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key);
    else members.set(key, isObject(value) ? applyPatch(members.get(key), value) : value);
  }
  return Object.fromEntries(members);
}
