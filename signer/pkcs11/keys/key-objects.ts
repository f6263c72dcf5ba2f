import type { SigningPurpose } from '../../protocol/protocol.ts';
import { findKeyLabel, formatKeyLabel, type KeyPurpose } from './key-label.ts';
import { Pkcs11Error } from '../library/pkcs11-error.ts';
import * as ck from '../library/pkcs11.ts';

/** An object of a key: what signs, or the public half of it. Both halves have one id and label. */
export type StoredKey<Purpose extends KeyPurpose = KeyPurpose> = {
  purpose: Purpose;
  generation: number;
  /** The CKA_ID: unlike the label, no two keys that were made here have the same. */
  id: Buffer;
  /** Good for the login it was found in. */
  handle: ck.Handle;
};

/** What signs for a purpose, or for one generation of it, the oldest generation first. */
export function findKeysOf<P extends KeyPurpose>(
  session: ck.Session,
  purpose: P,
  generation?: number,
): StoredKey<P>[] {
  const keys = findObjectsOf(session, { purpose, generation, kind: kinds[purpose], types: [] });
  return keys.toSorted((a, b) => a.generation - b.generation);
}

/** The public halves of a purpose, or of one generation of it, with attributes of these types. */
export function findPublicHalvesOf<P extends SigningPurpose>(
  session: ck.Session,
  purpose: P,
  { generation, types }: { generation?: number | undefined; types: readonly number[] },
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
};

type Search<P extends KeyPurpose> = {
  purpose: P;
  generation: number | undefined;
  kind: ck.Template;
  types: readonly number[];
};

/** One search, and one read of each object: over a network every call is a trip. */
function findObjectsOf<P extends KeyPurpose>(
  session: ck.Session,
  { purpose, generation, kind, types }: Search<P>,
): (StoredKey<P> & { attributes: Buffer[] })[] {
  const template = [...kind, { type: ck.CKA_TOKEN, value: true }];
  if (generation !== undefined)
    template.push({ type: ck.CKA_LABEL, value: formatKeyLabel(purpose, generation) });
  return session.findObjects(template).flatMap((handle) => {
    const values = readUnlessGone(session, handle, [ck.CKA_LABEL, ck.CKA_ID, ...types]);
    const [text, id, ...attributes] = values ?? [];
    const label = findKeyLabel(text?.toString() ?? '');
    if (id === undefined || label?.purpose !== purpose) return [];
    return [{ purpose, generation: label.generation, id, handle, attributes }];
  });
}

/** An object may be destroyed by another signer between being found and being read. */
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

/** Gone, or somebody else's object that has no such attribute. */
const unreadable: ReadonlySet<string> = new Set([
  'CKR_OBJECT_HANDLE_INVALID',
  'CKR_ATTRIBUTE_TYPE_INVALID',
]);
