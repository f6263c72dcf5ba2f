import { isSignedBy } from '../../proof/proof.ts';
import type { RegisteredKey } from '../../proof/registered-key.ts';
import { parseMarkText, type Mark } from './mark.ts';
import type { MarkObjects } from './mark-objects.ts';

export interface FoundMarks {
  /** The newest high-water mark that one of the vault's own keys signed, unless compromised. */
  readonly mark: Mark | undefined;
  /** The ids of `mark` and of the high-water marks before it, newest first. */
  readonly ids: readonly string[];
  /**
   * The ids of the high-water marks after `mark`, newest first, which no key of the vault signed.
   * Everyone who may write to the object store can put such marks there.
   */
  readonly strange: readonly string[];
}

const readAtOnce = 16;

/** Finds the newest high-water mark that one of `keys` signed. Throws StorageError. */
export async function findNewestMark(
  objects: MarkObjects,
  keys: ReadonlyMap<string, RegisteredKey>,
): Promise<FoundMarks> {
  const ids = await objects.list();
  for (let first = 0; first < ids.length; first += readAtOnce) {
    const page = ids.slice(first, first + readAtOnce);
    const marks = await Promise.all(page.map((id) => readMark(objects, keys, id)));
    const index = marks.findIndex((mark) => mark !== undefined);
    if (index === -1) continue;
    const place = first + index;
    return { mark: marks[index], ids: ids.slice(place), strange: ids.slice(0, place) };
  }
  return { mark: undefined, ids: [], strange: ids };
}

/**
 * Reads the high-water mark `id`. Returns undefined if the mark does not exist or none of `keys`
 * signed it. Throws StorageError.
 */
export async function readMark(
  objects: MarkObjects,
  keys: ReadonlyMap<string, RegisteredKey>,
  id: string,
): Promise<Mark | undefined> {
  const proof = await objects.read(id);
  if (proof?.id !== id) return undefined;
  const key = keys.get(proof.hsmKeyId);
  // An older database does not know when a key was activated, so that only a compromise counts.
  if (key?.state === 'COMPROMISED' || !isSignedBy(proof, key)) return undefined;
  return parseMarkText(proof.entryCanonical);
}
