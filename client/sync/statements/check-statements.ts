import { findOlderDevice } from '../../memory/values/object-order.ts';
import type { StatementIds } from '../../memory/values/remembered.ts';
import { indexClaims } from './claims.ts';
import type { Statements } from './statement.ts';

/** A state of an object as the vault shows it. */
export interface ShownState {
  readonly version: number;
  /** The hashes of the encrypted leaves by JSON Pointer, without those of statements. */
  readonly leaves: ReadonlyMap<string, string>;
  readonly statements: Statements;
}

/** Returns the statement that is older than it was known to be; undefined if there is none. */
export function findOlder(shown: Statements, known: StatementIds): string | undefined {
  const older = findOlderDevice(idsOf(shown), known);
  return older === undefined ? undefined : `an older write of device ${older}`;
}

/**
 * Returns why the user's devices and the vault's rules cannot have made a state; undefined if they
 * can.
 */
export function findContradiction({ version, leaves, statements }: ShownState): string | undefined {
  return findOmission(version, statements) ?? findFalseLeaf(leaves, statements);
}

/**
 * Returns what a state lacks that its own statements say was there before; undefined if nothing is
 * missing.
 */
export function findOmission(version: number, statements: Statements): string | undefined {
  if (statements.size === 0) return 'an object without a statement of a device';
  for (const { saw, base } of statements.values()) {
    if (version <= base) return `version ${version}, though a device wrote on version ${base}`;
    const older = findOlder(statements, saw);
    if (older !== undefined) return older;
  }
  return undefined;
}

/**
 * Returns the device whose statement may have been made by somebody who has an earlier master key
 * only; undefined if there is none. A statement under an earlier master key is believed if one
 * under the present key saw it, or if it is among `trusted`.
 */
export function findUnlisted(
  statements: Statements,
  trusted: ReadonlySet<string>,
): string | undefined {
  const seen = new Set(trusted);
  for (const { isPresent, saw } of statements.values()) {
    if (isPresent) for (const [, hash] of Object.values(saw)) seen.add(hash);
  }
  const unlisted = [...statements].find(([, { isPresent, hash }]) => !isPresent && !seen.has(hash));
  return unlisted?.[0];
}

/** Returns the hashes of statements by their ids, for `findUnlisted`. */
export function hashesOf(ids: StatementIds): Set<string> {
  return new Set(Object.values(ids).map(([, hash]) => hash));
}

/** Returns the ids of statements. */
export function idsOf(statements: Statements): StatementIds {
  const ids = Array.from(
    statements,
    ([device, { count, hash }]) => [device, [count, hash]] as const,
  );
  return Object.fromEntries(ids);
}

/** Finds a leaf that no standing claim explains, or a claimed leaf whose absence none explains. */
function findFalseLeaf(leaves: ShownState['leaves'], statements: Statements): string | undefined {
  const claims = indexClaims(statements);
  const claimed = new Map<string, Set<string | null>>();
  for (const { pointer, claim } of claims.standing) {
    const [, hash, known = hash] = claim;
    claimed.set(pointer, (claimed.get(pointer) ?? new Set()).add(hash).add(known));
  }
  for (const [pointer, hash] of leaves) {
    if (claimed.get(pointer)?.has(hash) !== true) return `another leaf at ${pointer}`;
  }
  const missing = claims.standing.find(
    (placed) => !leaves.has(placed.pointer) && !claims.isGone(placed),
  );
  return missing === undefined ? undefined : `no leaf at ${missing.pointer}`;
}
