import { isObject } from './json.ts';
import type { Clash } from './three-way.ts';

/**
 * A place that this device and others changed, neither knowing of the other, for which the vault has
 * no rule. Values are plaintext; undefined is a missing one. With the pointer '' it is the whole
 * object, which this device removes.
 */
export interface Conflict extends Clash {
  readonly objectId: string;
  readonly objectType: string | undefined;
}

/** Whose value it becomes, or a third one. */
export type Resolution = 'mine' | 'theirs' | { readonly value: unknown };

export type Resolver = (conflict: Conflict) => Promise<Resolution> | Resolution;

/** A change wins over a removal, and of two changes the one that reaches the vault later. */
export const defaultResolver: Resolver = ({ mine }) => (mine === undefined ? 'theirs' : 'mine');

export interface Deletion {
  readonly objectId: string;
  readonly objectType: string | undefined;
  /** With the changes of this device. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Another device deleted what this one has changed: the changes go too, become an object of their own
 * under a new id, or are kept aside.
 */
export type DeletionResolver = (
  deletion: Deletion,
) => Promise<'drop' | 'recreate' | 'keep'> | 'drop' | 'recreate' | 'keep';

/** Throws TypeError for what is no resolution: as a value it would be undefined, and remove the field. */
export function chosen(resolution: Resolution, { mine, theirs }: Clash): unknown {
  if (resolution === 'mine') return mine;
  if (resolution === 'theirs') return theirs;
  if (!isObject(resolution) || !('value' in resolution)) {
    throw new TypeError('a conflict is resolved by mine, theirs or a value');
  }
  return resolution.value;
}
