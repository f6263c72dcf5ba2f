import { isObject } from './json.ts';
import type { Clash } from './three-way.ts';

/**
 * A place that this device and others changed concurrently and for which the vault has no rule.
 * Values are plaintext; undefined stands for a missing one. If the pointer is '', it is the whole
 * object, which this device removes.
 */
export interface Conflict extends Clash {
  readonly objectId: string;
  readonly objectType: string | undefined;
}

/** The value that a place gets: this device's, the vault's, or another one. */
export type Resolution = 'mine' | 'theirs' | { readonly value: unknown };

/** Resolves a conflict. An application may bring its own, also one that asks the user. */
export type Resolver = (conflict: Conflict) => Promise<Resolution> | Resolution;

/** Prefers a change to a removal, and of two changes the one that reaches the vault later. */
export const defaultResolver: Resolver = ({ mine }) => (mine === undefined ? 'theirs' : 'mine');

export interface Deletion {
  readonly objectId: string;
  readonly objectType: string | undefined;
  /** The plaintext with the changes of this device. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Decides on an object that another device deleted and this device changed: 'drop' discards the
 * changes, 'recreate' makes them an object with a new id, and 'keep' keeps them among the pending
 * writes.
 */
export type DeletionResolver = (
  deletion: Deletion,
) => Promise<'drop' | 'recreate' | 'keep'> | 'drop' | 'recreate' | 'keep';

/**
 * Returns the value of a resolution. Throws TypeError for anything else, which as a value would be
 * undefined and remove the field.
 */
export function chosen(resolution: Resolution, { mine, theirs }: Clash): unknown {
  if (resolution === 'mine') return mine;
  if (resolution === 'theirs') return theirs;
  if (!isObject(resolution) || !('value' in resolution)) {
    throw new TypeError("The resolution of a conflict must be 'mine', 'theirs' or { value }.");
  }
  return resolution.value;
}
