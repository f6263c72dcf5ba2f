import type { Steps } from '../../async/heavy-work.ts';
import { AppError } from '../../errors/app-error.ts';
import { canonicalText } from '../../json/canonical-text.ts';
import { isObject, type JsonObject } from '../../json/json-values.ts';
import { childOf } from './json-pointer.ts';

const maxDepth = 32;
const maxLeaves = 10_000;
/**
 * The maximum size of the JSON Pointers of all leaves together, in bytes: a long name above many
 * leaves counts in the pointer of each leaf.
 */
const maxPathBytes = 2 ** 20;
/** The longest canonical text of an object, in bytes of UTF-8. */
export const maxDataBytes = 2 ** 19;

/**
 * Refuses data and patches with a depth of more than 32, more than 10,000 leaves, JSON Pointers to
 * the leaves of more than 1 MiB together, or a number beyond ±(2^53−1), which RFC 8785 rules out.
 * Throws data_too_deep, too_many_fields, paths_too_long or number_out_of_range.
 *
 * A check of the parsed numbers is enough: JSON.parse rounds to the nearest double and so keeps the
 * order of numbers. It parses an integer beyond the limit to 2^53 or more, and an integer that is
 * too large for a double to Infinity.
 */
export function assertStorable(data: JsonObject): void {
  let leaves = 0;
  let pathBytes = 0;

  /**
   * Checks one value. `length` is the length of its JSON Pointer in bytes; items of arrays have no
   * pointer, since arrays are leaves.
   */
  function check(value: unknown, depth: number, length: number, isInArray: boolean): void {
    if (typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
      throw new AppError('number_out_of_range');
    }
    if (!isInArray && isLeaf(value)) {
      leaves += 1;
      pathBytes += length;
      if (leaves > maxLeaves) throw new AppError('too_many_fields');
      if (pathBytes > maxPathBytes) throw new AppError('paths_too_long');
    }
    if (typeof value !== 'object' || value === null) return;
    if (depth > maxDepth) throw new AppError('data_too_deep');
    if (Array.isArray(value)) {
      for (const item of value) check(item, depth + 1, 0, true);
      return;
    }
    const keys = Object.keys(value);
    // Every member has a leaf, so that an object with too many members needs no further check.
    if (!isInArray && keys.length > maxLeaves) throw new AppError('too_many_fields');
    for (const key of keys) {
      const path = isInArray ? 0 : length + Buffer.byteLength(childOf('', key));
      check((value as JsonObject)[key], depth + 1, path, isInArray);
    }
  }

  check(data, 1, 0, false);
}

function isLeaf(value: unknown): boolean {
  return !isObject(value) || Object.keys(value).length === 0;
}

/**
 * Returns the canonical text of an object. Throws data_too_large if it is longer than
 * `maxDataBytes`, and as assertStorable does.
 */
export async function toStoredText(steps: Steps, data: JsonObject): Promise<string> {
  await steps(() => assertStorable(data));
  const text = await steps(() => canonicalText(data));
  if (Buffer.byteLength(text) > maxDataBytes) throw new AppError('data_too_large');
  return text;
}
