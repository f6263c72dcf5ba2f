import { memberOf } from './json.ts';

/** The pointer (RFC 6901) of a member of what `parent` points at. */
export function childOf(parent: string, key: string): string {
  return `${parent}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The keys that lead there from the whole document, ''. */
export function keysTo(pointer: string): string[] {
  const keys = pointer.split('/').slice(1);
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What is at the pointer; undefined where nothing is. */
export function valueAt(value: unknown, pointer: string): unknown {
  return keysTo(pointer).reduce(memberOf, value);
}

/** Whether a place is another one or below it. */
export function isWithin(pointer: string, outer: string): boolean {
  return pointer === outer || pointer.startsWith(`${outer}/`);
}
