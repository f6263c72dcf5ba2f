import { isObject, type JsonObject } from '../../json/json-values.ts';

/** Returns the JSON Pointer (RFC 6901) of a member of the object at `parent`. */
export function childOf(parent: string, key: string): string {
  const isPlain = !key.includes('~') && !key.includes('/');
  return `${parent}/${isPlain ? key : key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Returns the pointer one level up; undefined for '', the whole document. */
export function parentOf(pointer: string): string | undefined {
  const end = pointer.lastIndexOf('/');
  return end === -1 ? undefined : pointer.slice(0, end);
}

/** Matches '', or names that each follow a slash, in which ~ occurs only as ~0 or ~1. */
export const pointerForm = /^(?:\/(?:[^~/]|~[01])*)*$/;

/**
 * Returns the pointers of an object's leaves: values that are no object, such as arrays and null,
 * and objects without members. `at` is the JSON Pointer of the object itself, which does not count
 * as a leaf even if it is empty.
 */
export function leavesOf(object: JsonObject, at = ''): string[] {
  const leaves: string[] = [];
  function collect(object: JsonObject, at: string): void {
    for (const key of Object.keys(object)) {
      const value = object[key];
      const pointer = childOf(at, key);
      if (isObject(value) && Object.keys(value).length > 0) collect(value, pointer);
      else leaves.push(pointer);
    }
  }
  collect(object, at);
  return leaves;
}
