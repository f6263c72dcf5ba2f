import { canonicalText } from '../../json/canonical-text.ts';

/** Any object of JSON. Its keys are data: look them up with `memberOf`. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of its own, whatever prototypes have; undefined without one, and of what is no object. */
export function memberOf(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Whether two values are the same JSON; undefined is a missing one. */
export function isSame(one: unknown, other: unknown): boolean {
  return textOf(one) === textOf(other);
}

/** The canonical text, empty for a missing value. */
export function textOf(value: unknown): string {
  return value === undefined ? '' : canonicalText(value);
}
