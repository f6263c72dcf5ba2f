import type { SigningPurpose } from '../../protocol/protocol.ts';
import { findKeyLabel, formatKeyLabel, type KeyPurpose } from './key-label.ts';
import { Pkcs11Error } from '../library/pkcs11-error.ts';
import * as ck from '../library/pkcs11.ts';
import { isGeneratedInside, provenanceAttributes } from './provenance.ts';

/**
 * A PKCS#11 object of a key: the private or secret key, which signs, or the public half, which has
 * the same id and label.
 */
export interface StoredKey<Purpose extends KeyPurpose = KeyPurpose> {
  readonly purpose: Purpose;
  readonly generation: number;
  /** The CKA_ID, which is unique among the keys that signers made, unlike the label. */
  readonly id: Buffer;
  /** Valid only during the login in which the object was found. */
  readonly handle: ck.Handle;
}

/** A private or secret key. */
export interface SecretHalf<Purpose extends KeyPurpose = KeyPurpose> extends StoredKey<Purpose> {
  /** Whether the token did not generate the key, or the key may have left the token. */
  readonly imported: boolean;
}

/** Finds the private or secret keys of a purpose, or only those of one generation, oldest first. */
export function findKeysOf<P extends KeyPurpose>(
  session: ck.Session,
  purpose: P,
  generation?: number,
): SecretHalf<P>[] {
  const types = provenanceAttributes;
  const keys = findObjectsOf(session, { purpose, generation, kind: kinds[purpose], types });
  return keys
    .map(({ attributes, generation: number, id, handle }) => {
      const imported = !isGeneratedInside(attributes);
      return { purpose, generation: number, id, handle, imported };
    })
    .toSorted((a, b) => a.generation - b.generation);
}

/**
 * Finds the public halves of a purpose, or only those of one generation, and reads their attributes
 * of these types.
 */
export function findPublicHalvesOf<P extends SigningPurpose>(
  session: ck.Session,
  purpose: P,
  {
    generation,
    types,
  }: { readonly generation?: number | undefined; readonly types: readonly number[] },
): (StoredKey<P> & { attributes: Buffer[] })[] {
  const kind = [{ type: ck.CKA_CLASS, value: ck.CKO_PUBLIC_KEY }, keyTypes[purpose]];
  return findObjectsOf(session, { purpose, generation, kind, types });
}

const keyTypes = {
  audit: { type: ck.CKA_KEY_TYPE, value: ck.CKK_EC },
  token: { type: ck.CKA_KEY_TYPE, value: ck.CKK_RSA },
};

const kinds: Record<KeyPurpose, ck.Template> = {
  audit: [{ type: ck.CKA_CLASS, value: ck.CKO_PRIVATE_KEY }, keyTypes.audit],
  token: [{ type: ck.CKA_CLASS, value: ck.CKO_PRIVATE_KEY }, keyTypes.token],
  mac: [{ type: ck.CKA_CLASS, value: ck.CKO_SECRET_KEY }],
  encryption: [{ type: ck.CKA_CLASS, value: ck.CKO_SECRET_KEY }],
};

const names = [ck.CKA_LABEL, ck.CKA_ID] as const;

interface Search<P extends KeyPurpose> {
  readonly purpose: P;
  readonly generation: number | undefined;
  readonly kind: ck.Template;
  readonly types: readonly number[];
}

/**
 * Finds objects with one search and one read per object, since every call may be a network round
 * trip. An object that lacks one of the attributes is returned without any of them.
 */
function findObjectsOf<P extends KeyPurpose>(
  session: ck.Session,
  { purpose, generation, kind, types }: Search<P>,
): (StoredKey<P> & { attributes: Buffer[] })[] {
  const template = [...kind, { type: ck.CKA_TOKEN, value: true }];
  if (generation !== undefined)
    template.push({ type: ck.CKA_LABEL, value: formatKeyLabel(purpose, generation) });
  return session.findObjects(template).flatMap((handle) => {
    const values =
      readUnlessGone(session, handle, [...names, ...types]) ??
      readUnlessGone(session, handle, names);
    const [text, id, ...attributes] = values ?? [];
    const label = findKeyLabel(text?.toString() ?? '');
    if (id === undefined || label?.purpose !== purpose) return [];
    return [{ purpose, generation: label.generation, id, handle, attributes }];
  });
}

/**
 * Reads attributes of an object. Returns undefined if another signer has destroyed the object since
 * the search, or if the object lacks one of the attributes.
 */
function readUnlessGone(
  session: ck.Session,
  handle: ck.Handle,
  types: readonly number[],
): readonly Buffer[] | undefined {
  try {
    return session.readAttributes(handle, types);
  } catch (error) {
    if (error instanceof Pkcs11Error && unreadable.has(error.returnValue)) return undefined;
    throw error;
  }
}

/**
 * Return values for an object that was destroyed, or for an object of another program that lacks an
 * attribute.
 */
const unreadable: ReadonlySet<string> = new Set([
  'CKR_OBJECT_HANDLE_INVALID',
  'CKR_ATTRIBUTE_TYPE_INVALID',
]);
