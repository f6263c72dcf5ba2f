import { verifyProof } from '../../proof/proof.ts';
import type { RegisteredKey } from '../../proof/registered-key.ts';
import { parseMarkText, type Mark } from './mark.ts';
import type { MarkObjects } from './mark-objects.ts';

export interface FoundMarks {
  /** The newest that a key of ours signed. */
  readonly mark: Mark | undefined;
  /** It and those before it, the newest first. */
  readonly ids: readonly string[];
  /** Those after it: whoever may write to the object store can put such ones there. */
  readonly strange: readonly string[];
}

const readAtOnce = 16;

/** Passes over what no key of `keys` signed. Throws StorageError. */
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

/** Undefined unless it is a mark, of that id, that one of the keys signed. */
async function readMark(
  objects: MarkObjects,
  keys: ReadonlyMap<string, RegisteredKey>,
  id: string,
): Promise<Mark | undefined> {
  const proof = await objects.read(id);
  if (proof?.id !== id) return undefined;
  if (!verifyProof(proof, keys.get(proof.hsmKeyId)).valid) return undefined;
  return parseMarkText(proof.entryCanonical);
}
