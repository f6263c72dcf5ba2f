import { memberOf } from './json.ts';

/** Returns the JSON Pointer (RFC 6901) of a member of the value at `parent`. */
export function childOf(parent: string, key: string): string {
  return `${parent}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Splits a JSON Pointer into its unescaped member names, from the root down; [] for ''. */
export function keysTo(pointer: string): string[] {
  const keys = pointer.split('/').slice(1);
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Returns the value at a pointer; undefined if there is none. */
export function valueAt(value: unknown, pointer: string): unknown {
  return keysTo(pointer).reduce(memberOf, value);
}

/** Returns whether `pointer` is equal to `outer` or lies below it. */
export function isWithin(pointer: string, outer: string): boolean {
  return pointer === outer || pointer.startsWith(`${outer}/`);
}
