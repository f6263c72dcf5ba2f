import { isObject, type JsonObject } from './json.ts';

/** What a JSON Merge Patch (RFC 7396 §2) makes of a value; neither is changed. */
export function applyPatch(target: unknown, patch: JsonObject): JsonObject {
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key);
    else members.set(key, isObject(value) ? applyPatch(members.get(key), value) : value);
  }
  return Object.fromEntries(members);
}
