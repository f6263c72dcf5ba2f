import { isObject, memberOf, type JsonObject } from './json.ts';
import { childOf, leavesOf } from './json-pointer.ts';
import { applyPatch } from './merge-patch.ts';

/** What a merge patch does to one place of an object. */
export interface Edit {
  readonly pointer: string;
  /** Undefined where it removes. `{}` makes an object where none is. */
  readonly value: unknown;
  /** What is there now; undefined where nothing is. */
  readonly current: unknown;
  /** The leaves below that go. */
  readonly lost: readonly string[];
  /** The highest place above that is no object, as the edit needs it to be. */
  readonly gap: { readonly pointer: string; readonly current: unknown } | undefined;
  /** Only RFC 7396 makes this object: the patch has nothing but removals in it. */
  readonly isImplied: boolean;
}

/** The edits of a merge patch to the object as it is now, one for every leaf of the patch. */
export function* editsOf(
  patch: JsonObject,
  target: unknown,
  at = '',
  gap?: Edit['gap'],
): Generator<Edit> {
  for (const [key, value] of Object.entries(patch)) {
    const pointer = childOf(at, key);
    const current = memberOf(target, key);
    if (!isObject(value)) {
      const lost = isObject(current) ? [...leavesOf(current, pointer)] : [];
      yield { pointer, value: value ?? undefined, current, lost, gap, isImplied: false };
    } else if (isObject(current)) {
      yield* editsOf(value, current, pointer, gap);
    } else {
      yield* editsOf(value, undefined, pointer, gap ?? { pointer, current });
      if (Object.keys(applyPatch(undefined, value)).length > 0) continue;
      const isImplied = Object.keys(value).length > 0;
      yield { pointer, value: {}, current, lost: [], gap, isImplied };
    }
  }
}

/** The patch without the edits of `dropped`, and with other values for those of `instead`. */
export function rewrite(
  patch: JsonObject,
  dropped: ReadonlySet<string>,
  instead: ReadonlyMap<string, unknown>,
  at = '',
): JsonObject {
  const members = new Map<string, unknown>();
  for (const [key, value] of Object.entries(patch)) {
    const pointer = childOf(at, key);
    const isBranch = isObject(value) && Object.keys(value).length > 0;
    const kept = isBranch
      ? rewrite(value, dropped, instead, pointer)
      : (instead.get(pointer) ?? value);
    const isEmptied = isBranch && isObject(kept) && Object.keys(kept).length === 0;
    if (!isEmptied && (isBranch || !dropped.has(pointer))) members.set(key, kept);
  }
  return Object.fromEntries(members);
}
