import { isBranch, isObject, memberOf, type JsonObject } from '../objects/json.ts';
import { childOf, isWithin, keysTo } from '../objects/json-pointer.ts';
import { idsOf, type ShownState } from './check-statements.ts';
import { indexClaims, isContested, outerOf } from './claims.ts';
import { hashLeaf, type Claim, type Statement, type Statements } from './statement.ts';

/** A write of a device, before its statement is added. */
export interface StatedWrite {
  readonly device: string;
  /** Number of this write, above those of all earlier ones of the device. */
  readonly count: number;
  /** The object as it is created, or a merge patch of it. */
  readonly patch: JsonObject;
  /** Version of the object on which the patch is based; 0 for a new one. */
  readonly baseVersion: number;
  /** Returns whether a field stays in plaintext, so that nobody claims it. */
  readonly isPublic: (pointer: string) => boolean;
}

type Claims = Record<string, Claim>;

/**
 * Returns what a device states with a write. It states again what it wrote before and still stands,
 * and takes over what the vault decided between writes of which none saw the other. `state` is the
 * newest one that the device knows.
 */
export function makeStatement(write: StatedWrite, state: ShownState | undefined): Statement {
  const { device, count } = write;
  const written = claimsOf(write, state);
  if (state === undefined) return { count, base: 0, saw: {}, wrote: written };
  const { [device]: _, ...saw } = idsOf(state.statements);
  const statement = { count, base: state.version, saw };
  const wrote = { ...keepClaims(write, state), ...written };
  const own = { ...statement, wrote, hash: '', isPresent: true };
  const adopted = adoptClaims(
    write,
    new Map(state.statements).set(device, own),
    foresee(state, written),
  );
  return { ...statement, wrote: { ...adopted, ...wrote } };
}

/** Returns the claims of the leaves that a patch sets or removes. */
function claimsOf(
  { count, patch, baseVersion, isPublic }: StatedWrite,
  state: ShownState | undefined,
): Claims {
  const isOld = state !== undefined && baseVersion < state.version;
  const claims: Claims = {};
  const visit = (object: JsonObject, at: string) => {
    for (const [key, value] of Object.entries(object)) {
      const pointer = childOf(at, key);
      if (isBranch(value)) visit(value, pointer);
      else if (!isPublic(pointer)) {
        const hash = typeof value === 'string' ? hashLeaf(value) : null;
        claims[pointer] = isOld ? [count, hash, state.leaves.get(pointer) ?? null] : [count, hash];
      }
    }
  };
  visit(patch, '');
  return claims;
}

/**
 * Returns the earlier claims of the device that nobody overruled, the state confirms, and the write
 * does not replace. A removal is claimed as long as another device claims a leaf there.
 */
function keepClaims(
  { device, count, patch, baseVersion }: StatedWrite,
  { version, statements, leaves }: ShownState,
): Claims {
  const claims = indexClaims(statements);
  const branches = new Set([...leaves.keys()].flatMap(outerOf));
  const isReplaced = (pointer: string) => baseVersion >= version && isTouched(patch, pointer);
  const kept: Claims = {};
  for (const { device: by, pointer, claim } of claims.standing) {
    if (by !== device || isReplaced(pointer)) continue;
    const [, hash, known = hash] = claim;
    const present = leaves.get(pointer) ?? null;
    if (present !== hash && present !== known) continue;
    const isNeeded =
      present !== null || (!branches.has(pointer) && claims.isClaimedByOthers(pointer, device));
    if (isNeeded) kept[pointer] = isContested(claim) ? [count, present] : claim;
  }
  return kept;
}

/**
 * Claims the leaves about which other devices' claims contradict each other or the state after the
 * write.
 */
function adoptClaims(
  { device, count }: StatedWrite,
  statements: Statements,
  { leaves, isUncertain }: Outlook,
): Claims {
  const adopted: Claims = {};
  const adopt = (pointer: string, hash: string | null) => {
    adopted[pointer] = isUncertain(pointer) ? [count, hash, hash] : [count, hash];
  };
  for (const { device: by, pointer, claim } of indexClaims(statements).standing) {
    const [, hash] = claim;
    if (by === device || (hash !== null && leaves.get(pointer) === hash)) continue;
    const inside = [...leaves].filter(([leaf]) => isWithin(leaf, pointer));
    for (const [leaf, present] of inside) adopt(leaf, present);
    if (inside.length === 0 && hash !== null) adopt(pointer, null);
  }
  return adopted;
}

/** The state after a write, unless the vault's rules decide otherwise about contested claims. */
interface Outlook {
  readonly leaves: ReadonlyMap<string, string>;
  /** Returns whether the vault's rules decide about a place, one above it or one below it. */
  readonly isUncertain: (pointer: string) => boolean;
}

function foresee({ leaves }: ShownState, written: Claims): Outlook {
  const after = new Map(leaves);
  const contested = new Set(
    Object.keys(written).filter((place) => written[place]?.[2] !== undefined),
  );
  const around = new Set([...contested].flatMap(outerOf));
  const isWritten = (pointer: string) => Object.hasOwn(written, pointer);
  for (const leaf of leaves.keys()) {
    if ([leaf, ...outerOf(leaf)].some(isWritten)) after.delete(leaf);
  }
  for (const [pointer, [, hash]] of Object.entries(written)) {
    for (const outer of outerOf(pointer)) after.delete(outer);
    if (hash !== null) after.set(pointer, hash);
  }
  const isUncertain = (pointer: string) =>
    around.has(pointer) || [pointer, ...outerOf(pointer)].some((place) => contested.has(place));
  return { leaves: after, isUncertain };
}

/** Returns whether a patch sets or removes a place, one above it or one below it. */
function isTouched(patch: JsonObject, pointer: string): boolean {
  let value: unknown = patch;
  for (const key of keysTo(pointer)) {
    if (!isObject(value)) return value !== undefined;
    value = memberOf(value, key);
  }
  return value !== undefined;
}
