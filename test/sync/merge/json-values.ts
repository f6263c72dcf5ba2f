import * as fc from 'fast-check';
import type { JsonObject } from '../../../app/json/json-values.ts';

const largest = Number.MAX_SAFE_INTEGER;

const number = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, 0.1, 1 / 3, 333333333.3333332, 1e15, 1e15 + 0.5),
  fc.constantFrom(largest, -largest, largest - 1, 1e-6, 1e-7, 9.999999999999997e-7),
  // Subnormal numbers: the smallest and the largest; then the smallest normal number.
  fc.constantFrom(5e-324, -5e-324, 2.225073858507201e-308, 2.2250738585072014e-308),
  fc.double({ min: -largest, max: largest, noNaN: true }),
  fc.maxSafeInteger(),
);

const text = fc.oneof(
  fc.constantFrom('', '"\\/\b\f\n\r\t', '\u2028\u2029', '\u{1f602}', '\ufb33\u{10ffff}', '\u007f'),
  fc.constantFrom('\u0001\u001f', '\u0080\u009f', '\ufeff', 'e\u0301', '</script>'),
  fc.string({ unit: 'binary' }).map((string) => string.replaceAll('\0', '')),
);

const key = fc.oneof(
  fc.constantFrom('', '1', '10', '9', 'constructor', 'toString', '/', '~', 'a/b~c'),
  text.filter((name) => name !== '__proto__'),
);

const { object } = fc.letrec<{ object: Record<string, unknown>; value: unknown }>((tie) => ({
  object: fc.dictionary(key, tie('value'), { maxKeys: 6, noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 5 },
    number,
    text,
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 4 }),
    tie('object'),
  ),
}));

/** Generates objects that synchronisation accepts, with values that are hard to canonicalise. */
export const jsonObject = object;

/** Returns this many levels of nested objects. */
export function nested(levels: number): Record<string, unknown> {
  return levels === 1 ? {} : { a: nested(levels - 1) };
}

const fewKeys = fc.constantFrom('a', 'b', 'c', 'constructor', 'a/b');
export const smallValue = fc.constantFrom<unknown[]>(1, 2, 'x', [], [1]);

/** Generates nested objects whose leaves have few values, so that some are equal; null is one. */
export const smallTree = fc.letrec<{ tree: JsonObject }>((tie) => ({
  tree: fc.dictionary(
    fewKeys,
    fc.oneof({ depthSize: 'small', maxDepth: 2 }, smallValue, fc.constant(null), tie('tree')),
    { maxKeys: 3, noNullPrototype: true },
  ),
})).tree;
