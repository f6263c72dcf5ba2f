import { isObject, type JsonObject } from './json.ts';

/** The pointer (RFC 6901) of a member of what `parent` points at. */
export function childOf(parent: string, key: string): string {
  return `${parent}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The next one up; undefined of the whole document, ''. */
export function parentOf(pointer: string): string | undefined {
  const end = pointer.lastIndexOf('/');
  return end === -1 ? undefined : pointer.slice(0, end);
}

/** '', or names each with its slash, in which ~ is only ~0 or ~1. */
export const pointerForm = /^(?:\/(?:[^~/]|~[01])*)*$/;

/**
 * The leaves of an object: what is no object, and objects without members. Arrays are leaves, and so
 * is null. `at` points at the object; an object without members has no leaf itself.
 */
export function* leavesOf(object: JsonObject, at = ''): Generator<string> {
  for (const [key, value] of Object.entries(object)) {
    const pointer = childOf(at, key);
    if (isObject(value) && Object.keys(value).length > 0) yield* leavesOf(value, pointer);
    else yield pointer;
  }
}
