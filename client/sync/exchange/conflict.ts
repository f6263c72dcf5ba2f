import { isBranch, isSame } from '../objects/json.ts';
import { isWithin } from '../objects/json-pointer.ts';
import { partOf, patchBetween } from '../objects/merge-patch.ts';
import { parseObjectData } from '../objects/object-data.ts';
import type { ObjectEncryption, OpenObject, SealedObject } from '../objects/object-encryption.ts';
import { chosen, type Conflict, type Resolver } from '../objects/resolver.ts';
import { mergeThreeWay } from '../objects/three-way.ts';
import { afterWrite, asUnsent, type QueuedWrite, type Revision } from '../stores/stored-object.ts';

interface SettleOptions {
  readonly encryption: ObjectEncryption;
  readonly resolve: Resolver;
}

/** A write that the vault could not merge, and the vault's state with which it conflicts. */
interface ConflictingWrite {
  readonly objectId: string;
  readonly write: Revision;
  readonly theirs: { readonly version: number; readonly data: SealedObject };
  /** JSON Pointers of the fields for which the vault has no merge rule. */
  readonly fields: readonly string[];
}

/**
 * Returns the unsent writes that replace a conflicting write. Fields for which the vault has a
 * merge rule are sent once more unchanged, so that the vault merges them. All other fields are
 * resolved on this device, based on the vault's state. Throws invalid_leaf if the vault's state
 * cannot be decrypted.
 */
export async function settleConflict(
  { encryption, resolve }: SettleOptions,
  { objectId, write, theirs, fields }: ConflictingWrite,
): Promise<QueuedWrite[]> {
  const unsent = asUnsent(write);
  const after = afterWrite(write.before, write);
  const [base, mine, server] = await Promise.all([
    encryption.open(objectId, write.before),
    after === undefined ? undefined : encryption.open(objectId, after),
    encryption.open(objectId, theirs.data),
  ]);
  const renewed = { ...unsent, baseVersion: theirs.version, before: theirs.data };
  const { objectType } = server;
  const settle = async (clash: Omit<Conflict, 'objectId' | 'objectType'>) =>
    chosen(await resolve({ ...structuredClone(clash), objectId, objectType }), clash);

  if (unsent.kind === 'remove' || mine === undefined) {
    const whole = { pointer: '', base: base.data, mine: undefined, theirs: server.data };
    const wanted = isSame(base.data, server.data) ? undefined : await settle(whole);
    return wanted === undefined
      ? [renewed]
      : changeTo(server, parseObjectData(wanted), [server, base]);
  }

  const held: string[] = [];
  const merged = await mergeThreeWay(base.data, mine.data, server.data, async (clash) => {
    if (fields.some((field) => isWithin(field, clash.pointer) || isWithin(clash.pointer, field))) {
      return settle(clash);
    }
    held.push(clash.pointer);
    return clash.theirs;
  });
  const again = held.length > 0 ? [{ ...unsent, delta: partOf(unsent.delta, held) }] : [];
  return [...again, ...(await changeTo(server, parseObjectData(merged), [server, mine]))];

  async function changeTo(
    from: OpenObject,
    data: OpenObject['data'],
    known: readonly OpenObject[],
  ): Promise<QueuedWrite[]> {
    const sealed = await encryption.seal(objectId, { objectType, data }, known);
    const delta = patchBetween(from.sealed, sealed);
    return isBranch(delta) ? [{ ...renewed, kind: 'change', delta }] : [];
  }
}
