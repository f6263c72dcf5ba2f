import { isObject, isSame, memberOf } from '../../json/json-values.ts';

/**
 * An instruction that turns a value into its former value: an array with the former value, an empty
 * array if there was none, or an object with an instruction for each member that differs.
 */
export type Undo = readonly unknown[] | { readonly [key: string]: Undo };

/** Returns the undo of a change, which holds no value that stayed; undefined if nothing changed. */
export function undoOf(former: unknown, present: unknown): Undo | undefined {
  if (former === present) return undefined;
  if (!isObject(former) || !isObject(present)) {
    if (isSame(former, present)) return undefined;
    return former === undefined ? [] : [former];
  }
  const keys = new Set([...Object.keys(former), ...Object.keys(present)]);
  const members = [...keys].flatMap((key) => {
    const undo = undoOf(memberOf(former, key), memberOf(present, key));
    return undo === undefined ? [] : [[key, undo] as const];
  });
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/**
 * Returns the former value. Changes `present`, and uses parts of both arguments in the result, so
 * that going back over many versions costs no more than their undos are long.
 */
export function applyUndo(present: unknown, undo: Undo): unknown {
  if (isFormer(undo)) return undo[0];
  const members: Record<string, unknown> = isObject(present) ? present : {};
  for (const [key, change] of Object.entries(undo)) {
    const former = applyUndo(memberOf(members, key), change);
    if (former === undefined) delete members[key];
    else members[key] = former;
  }
  return members;
}

function isFormer(undo: Undo): undo is readonly unknown[] {
  return Array.isArray(undo);
}
