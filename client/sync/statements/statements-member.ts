import { ClientError } from '../../errors/client-error.ts';
import type { StatementIds } from '../../memory/values/remembered.ts';
import { isBranch, isObject, memberOf, type JsonObject } from '../objects/json.ts';
import { childOf } from '../objects/json-pointer.ts';
import { statementsMember } from '../objects/reserved-members.ts';
import { SealedStatements, type SentStatement } from '../objects/sealed-statements.ts';
import { hashLeaf } from './statement.ts';

/** Splits the statements from an object as the vault stores it. Throws invalid_leaf. */
export function splitStatements({ [statementsMember]: member = {}, ...data }: JsonObject): {
  readonly data: JsonObject;
  readonly statements: SealedStatements;
} {
  const { success, data: statements } = SealedStatements.safeParse(member);
  if (!success) throw new ClientError('invalid_leaf');
  return { data, statements };
}

/** Returns an object or a merge patch with the encrypted statement of a device. */
export function withStatement(
  object: JsonObject,
  device: string,
  { count, leaf, replaces }: SentStatement,
): JsonObject {
  const removals = Object.fromEntries(replaces.map((replaced) => [replaced, null]));
  return { ...object, [statementsMember]: { [device]: { ...removals, [count]: leaf } } };
}

/** Returns the newest encrypted statement of each device, with its count. */
export function findNewest(sealed: SealedStatements): Map<string, { count: number; leaf: string }> {
  const newest = Object.entries(sealed).flatMap(([device, leaves]) => {
    const count = Math.max(...Object.keys(leaves).map(Number));
    const leaf = leaves[count];
    return leaf === undefined ? [] : [[device, { count, leaf }] as const];
  });
  return new Map(newest);
}

/** Returns the count and the hash of the newest statement of each device. */
export function identifyNewest(sealed: SealedStatements): StatementIds {
  const ids = Array.from(
    findNewest(sealed),
    ([device, { count, leaf }]) => [device, [count, hashLeaf(leaf)]] as const,
  );
  return Object.fromEntries(ids);
}

/** Returns the JSON Pointer of a statement. */
export function pointerToStatement(device: string, count: number): string {
  return [statementsMember, device, String(count)].reduce(childOf, '');
}

/** Returns the hashes of the encrypted leaves of an object by JSON Pointer. */
export function hashLeaves(
  object: JsonObject,
  isPublic: (pointer: string) => boolean,
): Map<string, string> {
  const hashes = new Map<string, string>();
  const visit = (branch: JsonObject, at: string) => {
    for (const key of Object.keys(branch)) {
      const [value, pointer] = [memberOf(branch, key), childOf(at, key)];
      if (isBranch(value)) visit(value, pointer);
      else if (!isObject(value) && !isPublic(pointer)) {
        hashes.set(pointer, typeof value === 'string' ? hashLeaf(value) : 'not encrypted');
      }
    }
  };
  visit(object, '');
  return hashes;
}
