import { isObject, memberOf, type JsonObject } from '../../json/json-values.ts';
import { childOf, leavesOf } from './json-pointer.ts';
import { applyPatch } from './merge-patch.ts';

/** The change that a merge patch makes to one place of an object. */
export interface Edit {
  readonly pointer: string;
  /**
   * The new value; undefined for a removal; `{}` to create an empty object where no object exists.
   */
  readonly value: unknown;
  /** The present value at `pointer`; undefined if there is none. */
  readonly current: unknown;
  /** JSON Pointers of the leaves below `pointer` that the edit removes. */
  readonly lost: readonly string[];
  /**
   * The highest place above `pointer` where the edit needs an object but the present value is none.
   */
  readonly gap: { readonly pointer: string; readonly current: unknown } | undefined;
  /**
   * Whether the patch contains only removals below `pointer`, so that RFC 7396 nevertheless creates
   * an empty object there.
   */
  readonly isImplied: boolean;
}

/** A merge patch, and the edits that it makes to the current data of an object. */
export interface ResolvedPatch {
  readonly patch: JsonObject;
  readonly edits: readonly Edit[];
}

const none: readonly string[] = [];

/** Computes the edits of a merge patch to the current data of an object. */
export function resolvePatch(data: JsonObject, patch: JsonObject): ResolvedPatch {
  return { patch, edits: [...editsOf(patch, data)] };
}

/** Yields the edits of a merge patch to the current object, one for every leaf of the patch. */
function* editsOf(patch: JsonObject, target: unknown, at = '', gap?: Edit['gap']): Generator<Edit> {
  for (const [key, value] of Object.entries(patch)) {
    const pointer = childOf(at, key);
    const current = memberOf(target, key);
    if (!isObject(value)) {
      const lost = isObject(current) ? leavesOf(current, pointer) : none;
      yield { pointer, value: value ?? undefined, current, lost, gap, isImplied: false };
    } else if (isObject(current)) {
      yield* editsOf(value, current, pointer, gap);
    } else {
      yield* editsOf(value, undefined, pointer, gap ?? { pointer, current });
      if (Object.keys(applyPatch(undefined, value)).length > 0) continue;
      const isImplied = Object.keys(value).length > 0;
      yield { pointer, value: {}, current, lost: none, gap, isImplied };
    }
  }
}

/**
 * Returns the patch without the edits at the JSON Pointers `dropped`, and with the values in
 * `instead` at their JSON Pointers.
 */
export function rewrite(
  patch: JsonObject,
  dropped: ReadonlySet<string>,
  instead: ReadonlyMap<string, unknown>,
  at = '',
): JsonObject {
  if (dropped.size === 0 && instead.size === 0) return patch;
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
