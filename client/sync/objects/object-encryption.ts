import { ClientError } from '../../errors/client-error.ts';
import { isBranch, isObject, isSame, memberOf, type JsonObject } from './json.ts';
import { childOf, isWithin, valueAt } from './json-pointer.ts';
import type { LeafCipher } from './leaf-encryption.ts';
import { typeMember } from './reserved-members.ts';

/**
 * JSON Pointers of the fields that stay in plaintext, by type of object. `*` applies to all types
 * that are not listed and to objects without a type.
 */
export type PublicFields = Readonly<Record<string, readonly string[]>>;

/**
 * An object in the form in which the vault stores it: all leaves are encrypted, except empty
 * objects and public fields.
 */
export type SealedObject = JsonObject;

export interface OpenObject {
  readonly sealed: SealedObject;
  readonly objectType: string | undefined;
  /** The plaintext. */
  readonly data: JsonObject;
}

export interface ObjectEncryption {
  /**
   * Decrypts an object. Throws invalid_leaf unless every leaf was encrypted for its place in this
   * object.
   */
  open(objectId: string, sealed: SealedObject): Promise<OpenObject>;
  /**
   * Encrypts an object. A leaf that has the same value in an object of `known` keeps the ciphertext
   * from there. Throws TypeError for a public field that becomes null, which a merge patch cannot
   * express.
   */
  seal(
    objectId: string,
    plain: Pick<OpenObject, 'objectType' | 'data'>,
    known?: readonly OpenObject[],
  ): Promise<SealedObject>;
  /**
   * Resolves with a function that returns whether a field of this object stays in plaintext. Throws
   * invalid_leaf if the type of the object cannot be decrypted.
   */
  findPublic(objectId: string, sealed: SealedObject): Promise<(pointer: string) => boolean>;
  /**
   * Encrypts all leaves anew that an earlier master key opens, in an object or in a merge patch of
   * one.
   */
  renew(objectId: string, sealed: SealedObject): Promise<SealedObject>;
}

export function createObjectEncryption(
  cipher: LeafCipher,
  publicFields: PublicFields,
): ObjectEncryption {
  function isPublic(objectType: string | undefined, pointer: string): boolean {
    const fields = memberOf(publicFields, objectType ?? '*') ?? memberOf(publicFields, '*') ?? [];
    return (fields as readonly string[]).some((field) => isWithin(pointer, field));
  }

  async function openType(objectId: string, sealed: SealedObject): Promise<string | undefined> {
    const leaf = memberOf(sealed, typeMember);
    const { value: objectType } = await cipher.open(objectId, childOf('', typeMember), leaf);
    if (objectType === null) return undefined;
    if (typeof objectType !== 'string') throw new ClientError('invalid_leaf');
    return objectType;
  }

  async function openLeaf(objectId: string, pointer: string, leaf: unknown): Promise<unknown> {
    return (await cipher.open(objectId, pointer, leaf)).value;
  }

  return {
    async open(objectId, sealed) {
      const objectType = await openType(objectId, sealed);
      const { [typeMember]: _, ...fields } = sealed;
      const data = await mapLeaves(fields, (pointer, leaf) =>
        isPublic(objectType, pointer) ? leaf : openLeaf(objectId, pointer, leaf),
      );
      return { sealed, objectType, data };
    },

    async seal(objectId, { objectType, data }, known = []) {
      const keep = (pointer: string, value: unknown) =>
        known
          .filter((other) => isSame(valueAt(other.data, pointer), value))
          .map((other) => valueAt(other.sealed, pointer))[0];
      const fields = await mapLeaves(data, (pointer, value) => {
        const kept = keep(pointer, value);
        if (kept !== undefined) return kept;
        if (!isPublic(objectType, pointer)) return cipher.seal(objectId, pointer, value);
        if (value === null) throw new TypeError(`The public field ${pointer} cannot become null.`);
        return value;
      });
      const present = known.find((other) => other.objectType === objectType)?.sealed;
      const type =
        present?.[typeMember] ??
        (await cipher.seal(objectId, childOf('', typeMember), objectType ?? null));
      return { ...fields, [typeMember]: type };
    },

    async findPublic(objectId, sealed) {
      const objectType = await openType(objectId, sealed);
      return (pointer) => isPublic(objectType, pointer);
    },

    renew: (objectId, sealed) =>
      mapLeaves(sealed, (pointer, leaf) => cipher.renew(objectId, pointer, leaf)),
  };
}

/**
 * Returns an object with the same fields, in which `map` has replaced each leaf. Empty objects stay
 * unchanged.
 */
async function mapLeaves(
  object: JsonObject,
  map: (pointer: string, leaf: unknown) => unknown,
  at = '',
): Promise<JsonObject> {
  const members = Object.entries(object).map(async ([key, value]) => {
    const pointer = childOf(at, key);
    if (isBranch(value)) return [key, await mapLeaves(value, map, pointer)] as const;
    return [key, isObject(value) ? value : await map(pointer, value)] as const;
  });
  return Object.fromEntries(await Promise.all(members));
}
