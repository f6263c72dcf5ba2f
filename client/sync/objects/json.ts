/** Any JSON object. Its keys are untrusted data: read them with `memberOf`. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns whether a value is an object with members; `{}` has none and is a leaf. */
export function isBranch(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).length > 0;
}

/**
 * Returns an own member of an object, never a member of its prototype. Returns undefined if there
 * is no such member or if the value is not an object.
 */
export function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Returns whether two values are the same JSON; undefined stands for a missing value. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  );
}

/** Returns the keys that at least one of the values has; values that are not objects have none. */
export function keysOf(...values: readonly unknown[]): Set<string> {
  return new Set(values.filter(isObject).flatMap((value) => Object.keys(value)));
}
