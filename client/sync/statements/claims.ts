import type { Claim, Statements } from './statement.ts';

/** A claim of a device about a place. */
export interface PlacedClaim {
  readonly device: string;
  readonly pointer: string;
  readonly claim: Claim;
}

export type Claims = ReturnType<typeof indexClaims>;

/**
 * Finds which claims of the devices stand, and which others overrule. A device repeats in each
 * statement what it still claims, so its claims overrule those that it had seen about the same
 * place. A leaf or a removal concerns everything below its place, and a leaf the places above it.
 */
export function indexClaims(statements: Statements) {
  const all = [...statements].flatMap(([device, { wrote }]) =>
    Object.entries(wrote).map(([pointer, claim]) => ({ device, pointer, claim })),
  );
  const at = new Map<string, PlacedClaim[]>();
  /** The claims of leaves below each place. */
  const below = new Map<string, PlacedClaim[]>();
  for (const placed of all) {
    put(at, placed.pointer, placed);
    if (placed.claim[1] === null) continue;
    for (const outer of outerOf(placed.pointer)) put(below, outer, placed);
  }

  /** Returns the claims that concern the place of another one. */
  function findConcerning({ pointer }: PlacedClaim): PlacedClaim[] {
    const above = outerOf(pointer).flatMap((outer) => at.get(outer) ?? []);
    return [...(at.get(pointer) ?? []), ...above, ...(below.get(pointer) ?? [])];
  }

  /** Returns whether the device of a claim had seen another claim about the place. */
  function isOverruled(placed: PlacedClaim, by: PlacedClaim): boolean {
    const [count] = placed.claim;
    const [countOfOther] = by.claim;
    if (isContested(by.claim)) return false;
    if (placed.device === by.device) return count < countOfOther;
    const [seen = 0] = statements.get(by.device)?.saw[placed.device] ?? [];
    return seen >= count;
  }

  const standing: readonly PlacedClaim[] = all.filter(
    (placed) => !findConcerning(placed).some((other) => isOverruled(placed, other)),
  );

  return {
    /** The claims that no other one overrules. */
    standing,

    /**
     * Returns whether a claim itself, or one that it does not overrule, explains an absence. A
     * contested leaf may be absent, since nobody claims a place any more that was emptied before.
     */
    isGone: (placed: PlacedClaim): boolean =>
      placed.claim[1] === null ||
      isContested(placed.claim) ||
      findConcerning(placed).some(
        (other) =>
          (other.pointer !== placed.pointer || other.claim[1] === null) &&
          !isOverruled(other, placed),
      ),

    /** Returns whether another device claims a leaf at a place or below it. */
    isClaimedByOthers: (pointer: string, device: string): boolean =>
      [...(at.get(pointer) ?? []), ...(below.get(pointer) ?? [])].some(
        (other) => other.device !== device && other.claim[1] !== null,
      ),
  };
}

/** Returns whether the vault's rules may have decided against a claim. */
export function isContested([, , known]: Claim): boolean {
  return known !== undefined;
}

/** Returns the places that contain another one. */
export function outerOf(pointer: string): string[] {
  const outer: string[] = [];
  for (let end = pointer.lastIndexOf('/'); end > 0; end = pointer.lastIndexOf('/', end - 1)) {
    outer.push(pointer.slice(0, end));
  }
  return outer;
}

function put<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
