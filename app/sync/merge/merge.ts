import { rewrite, type Edit, type ResolvedPatch } from './edits.ts';
import { isSame, type JsonObject } from '../../json/json-values.ts';
import { leavesOf } from './json-pointer.ts';
import { applyPatch } from './merge-patch.ts';
import { isLater, judge, type Change, type Rule, type Side, type Verdict } from './rules.ts';

/** The changes since the base version of a write, and the rules that settle conflicts with them. */
export interface Since {
  /**
   * The last change of each place that `placesOf` returns and that has changed, by JSON Pointer.
   */
  readonly touched: ReadonlyMap<string, Change>;
  /** The time and device of the write itself. */
  readonly by: Change;
  readonly ruleOf: (pointer: string) => Rule | undefined;
}

interface Merged {
  readonly data: JsonObject;
  /** The places that the write changed: leaves, and objects that it removed or replaced. */
  readonly changed: readonly string[];
  /** FIELD_MERGE, IDENTICAL, or the rules that settled a field, joined by commas. */
  readonly ruleApplied: string;
}

/** The leaves that both sides changed and no rule settles, sorted. */
interface Unsettled {
  readonly conflicts: readonly string[];
}

/** One leaf that both sides changed, and the server's current value there. */
interface Overlap {
  readonly field: string;
  readonly server: Side;
}

/**
 * Applies a merge patch (RFC 7396) to data that other writes may have changed since the patch's
 * base version. Places that no other write changed are changed as the patch says. Replacing or
 * removing an object counts as a change of every leaf below the object. Changing a leaf below an
 * object that another write removed counts as a change of this object too. Returns the unsettled
 * leaves, and applies nothing, if no rule settles a leaf that both sides changed.
 */
export function mergePatch(
  data: JsonObject,
  { patch, edits }: ResolvedPatch,
  since: Since,
): Merged | Unsettled {
  const dropped = new Set<string>();
  const instead = new Map<string, unknown>();
  const changed = new Set<string>();
  const conflicts = new Set<string>();
  const rules = new Set<string>();

  function take({ pointer, lost, gap }: Edit): void {
    changed.add(pointer);
    for (const leaf of lost) changed.add(leaf);
    if (gap?.current !== undefined) changed.add(gap.pointer);
  }

  function settle(edit: Edit, overlaps: readonly Overlap[]): void {
    const { pointer, value, lost } = edit;
    const verdicts = overlaps.map((overlap) => verdictOf(overlap, lost.length > 0, value, since));
    const [first] = verdicts;
    const isUnanimous = verdicts.every((verdict) => verdict === first);
    // The removal of an object can be dropped only if the server changed all leaves of the object:
    // the client wants its other leaves removed.
    const isWhole = lost.length === 0 || overlaps.length === lost.length;
    if (first === undefined || !isUnanimous || (first === 'server' && !isWhole)) {
      for (const { field } of overlaps) conflicts.add(field);
      return;
    }
    for (const { field } of overlaps) rules.add(String(since.ruleOf(field)));
    if (first === 'server') dropped.add(pointer);
    else take(edit);
    if (typeof first === 'object') instead.set(pointer, first.value);
  }

  for (const edit of edits) {
    const { pointer, value, current } = edit;
    const overlaps = overlapsOf(edit, since.touched);
    const [overlap] = overlaps;
    if (overlap === undefined) {
      if (!isSame(value, current)) {
        rules.add('FIELD_MERGE');
        take(edit);
      } else if (since.ruleOf(pointer) !== undefined) {
        // An edit to the value that is already there counts as a change of a place that has a rule,
        // as it would if it had arrived after the other writes.
        changed.add(pointer);
      }
    } else if (edit.isImplied) {
      dropped.add(pointer);
    } else if (edit.lost.length === 0 && isSame(value, overlap.server.value)) {
      rules.add('IDENTICAL');
      dropped.add(pointer);
      if (isRenewed(overlap, value, since)) changed.add(pointer);
    } else {
      settle(edit, overlaps);
    }
  }
  if (conflicts.size > 0) return { conflicts: [...conflicts].toSorted() };
  return {
    data: applyPatch(data, rewrite(patch, dropped, instead)),
    changed: [...changed],
    ruleApplied: nameOf(rules),
  };
}

/**
 * Returns the places where other changes can conflict with a merge patch. A patch of null removes
 * the whole object.
 */
export function placesOf(data: JsonObject, patch: ResolvedPatch | null): string[] {
  if (patch === null) return leavesOf(data);
  const places = new Set<string>();
  for (const { pointer, lost, gap } of patch.edits) {
    places.add(pointer);
    for (const leaf of lost) places.add(leaf);
    if (gap !== undefined) places.add(gap.pointer);
  }
  return [...places];
}

/**
 * Decides whether a write may remove the whole object after other writes have changed it. Returns
 * the rules that allow the removal, or the leaves in conflict.
 */
export function mergeRemoval(
  data: JsonObject,
  since: Since,
): { readonly ruleApplied: string } | Unsettled {
  const rules = new Set(['FIELD_MERGE']);
  const conflicts = leavesOf(data).filter((field) => {
    const change = since.touched.get(field);
    if (change === undefined) return false;
    const overlap = { field, server: { ...change, value: undefined } };
    rules.add(String(since.ruleOf(field)));
    return verdictOf(overlap, true, undefined, since) !== 'client';
  });
  return conflicts.length > 0
    ? { conflicts: conflicts.toSorted() }
    : { ruleApplied: nameOf(rules) };
}

function overlapsOf({ pointer, current, lost, gap }: Edit, touched: Since['touched']): Overlap[] {
  const above = gap === undefined ? undefined : touched.get(gap.pointer);
  if (above !== undefined) {
    return [{ field: pointer, server: { ...above, value: undefined } }];
  }
  if (lost.length === 0) {
    const change = touched.get(pointer);
    return change === undefined ? [] : [{ field: pointer, server: { ...change, value: current } }];
  }
  return lost.flatMap((field) => {
    const change = touched.get(field);
    // The leaves of a removed object get no value here, since no rule uses their values.
    return change === undefined ? [] : [{ field, server: { ...change, value: undefined } }];
  });
}

function verdictOf(
  { field, server }: Overlap,
  isLost: boolean,
  value: unknown,
  { by, ruleOf }: Since,
): Verdict {
  const rule = ruleOf(field);
  if (rule === undefined) return undefined;
  return judge(rule, server, { ...by, value: isLost ? undefined : value });
}

/**
 * Returns whether an equal value with a later time must be recorded as a change, so that it takes
 * precedence over writes with a time in between.
 */
function isRenewed({ field, server }: Overlap, value: unknown, { by, ruleOf }: Since): boolean {
  return ruleOf(field) === 'LAST_WRITE_WINS' && isLater({ ...by, value }, server);
}

function nameOf(rules: ReadonlySet<string>): string {
  const configured = [...rules].filter((rule) => rule !== 'FIELD_MERGE' && rule !== 'IDENTICAL');
  if (configured.length > 0) return configured.toSorted().join(',');
  return rules.has('FIELD_MERGE') ? 'FIELD_MERGE' : 'IDENTICAL';
}
