import { isObject } from './json.ts';
import type { Clash } from './three-way.ts';

/**
 * A field that this device and another device changed concurrently and for which the vault has no
 * merge rule. Values are plaintext; undefined stands for a missing value. The pointer '' means that
 * this device removes the whole object, which another device changed.
 */
export interface Conflict extends Clash {
  readonly objectId: string;
  readonly objectType: string | undefined;
}

/** The value that a field gets: this device's value, the vault's value, or another one. */
export type Resolution = 'mine' | 'theirs' | { readonly value: unknown };

/**
 * Resolves a conflict. An application may pass its own resolver, for example one that asks the
 * user.
 */
export type Resolver = (conflict: Conflict) => Promise<Resolution> | Resolution;

/**
 * Prefers a change to a removal, and this device's change to that of another device, since it
 * reaches the vault later.
 */
export const defaultResolver: Resolver = ({ mine }) => (mine === undefined ? 'theirs' : 'mine');

export interface Deletion {
  readonly objectId: string;
  readonly objectType: string | undefined;
  /** The plaintext with the changes of this device. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Decides on an object that another device deleted and this device changed: 'drop' discards the
 * changes, 'recreate' creates a new object with the changed data and a new id, and 'keep' keeps the
 * changes as refused pending writes.
 */
export type DeletionResolver = (
  deletion: Deletion,
) => Promise<'drop' | 'recreate' | 'keep'> | 'drop' | 'recreate' | 'keep';

/**
 * Returns the value that a resolution selects. Throws TypeError for an invalid resolution, since
 * its value would be undefined and remove the field.
 */
export function chosen(resolution: Resolution, { mine, theirs }: Clash): unknown {
  if (resolution === 'mine') return mine;
  if (resolution === 'theirs') return theirs;
  if (!isObject(resolution) || !('value' in resolution)) {
    throw new TypeError("The resolution of a conflict must be 'mine', 'theirs' or { value }.");
  }
  return resolution.value;
}
