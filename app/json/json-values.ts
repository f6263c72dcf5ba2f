import { canonicalText } from './canonical-text.ts';

/** Any JSON object. Its keys are untrusted: look them up with `memberOf`. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns an own member of an object, never a member of its prototype. Returns undefined if the
 * member does not exist or `value` is not an object.
 */
export function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/**
 * Returns whether two values are the same JSON; undefined stands for a missing value. Does not
 * compare canonical texts, which take far longer to make.
 */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSame(item, other[index]))
    );
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  );
}

/** Returns whether a value, with all that it contains, is more than `limit` JSON values. */
export function hasMoreValues(value: unknown, limit: number): boolean {
  let left = limit;
  function isBeyond(value: unknown): boolean {
    left -= 1;
    if (left < 0) return true;
    if (Array.isArray(value)) return value.length > left || value.some(isBeyond);
    if (!isObject(value)) return false;
    const keys = Object.keys(value);
    return keys.length > left || keys.some((key) => isBeyond(value[key]));
  }
  return isBeyond(value);
}

/** Returns the canonical text (RFC 8785) of a value, and '' for undefined. */
export function textOf(value: unknown): string {
  return value === undefined ? '' : canonicalText(value);
}
