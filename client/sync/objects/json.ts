/** Any object of JSON. Its keys are data: look them up with `memberOf`. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether it has fields below it; `{}` has none and is a leaf. */
export function isBranch(value: unknown): value is JsonObject {
  return isObject(value) && Object.keys(value).length > 0;
}

/** A member of its own, whatever prototypes have; undefined without one, and of what is no object. */
export function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Whether two values are the same JSON; undefined is a missing one. */
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

/** The keys of both; none of what is no object. */
export function keysOf(...values: readonly unknown[]): Set<string> {
  return new Set(values.filter(isObject).flatMap((value) => Object.keys(value)));
}
