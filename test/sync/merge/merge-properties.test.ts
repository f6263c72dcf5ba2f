import test from 'ava';
import * as fc from 'fast-check';
import { canonicalText } from '../../../app/json/canonical-text.ts';
import { isObject, isSame, memberOf, type JsonObject } from '../../../app/json/json-values.ts';
import { leavesOf } from '../../../app/sync/merge/json-pointer.ts';
import { applyPatch } from '../../../app/sync/merge/merge-patch.ts';
import type { Rule } from '../../../app/sync/merge/rules.ts';
import { jsonObject, smallTree, smallValue as value } from './json-values.ts';
import { receive, type OfflineWrite } from './model.ts';

const runs = { numRuns: Number(process.env['ROUNDS'] ?? 500) };
const data = smallTree;
const patch = smallTree;

function writesOf(delta: fc.Arbitrary<JsonObject>): fc.Arbitrary<OfflineWrite[]> {
  const changedAt = fc.integer({ min: 0, max: 5 }).map((second) => new Date(second * 1000));
  const deviceId = fc.constantFrom('d1', 'd2', 'd3');
  return fc.array(fc.record({ delta, changedAt, deviceId }), { minLength: 1, maxLength: 5 });
}

/** Generates writes in their original order and in another one. */
function ordered(delta: fc.Arbitrary<JsonObject>) {
  return writesOf(delta).chain((writes) =>
    fc.record({
      writes: fc.constant(writes),
      other: fc.shuffledSubarray(writes, { minLength: writes.length }),
    }),
  );
}

/** Returns whether the data is as a patch wants it, except where it repeats the first version. */
function isDone(now: unknown, delta: JsonObject, first: unknown): boolean {
  return Object.entries(delta).every(([name, wanted]) => {
    const [is, was] = [memberOf(now, name), memberOf(first, name)];
    if (!isObject(wanted)) {
      const value = wanted ?? undefined;
      return isSame(was, value) || isSame(is, value);
    }
    if (Object.keys(wanted).length === 0) return isObject(was) || isObject(is);
    return isDone(is, wanted, was);
  });
}

test('values are the same exactly if their canonical texts are', (t) => {
  fc.assert(
    fc.property(data, data, (one, other) => {
      t.is(isSame(one, other), canonicalText(one) === canonicalText(other));
    }),
    runs,
  );
  fc.assert(
    fc.property(jsonObject, (object) => {
      t.true(isSame(object, JSON.parse(canonicalText(object))));
    }),
    runs,
  );
  t.false(isSame([1], { 0: 1, length: 1 }));
  t.false(isSame({}, undefined));
});

test('no acknowledged change is lost, whatever writes come before and after it', (t) => {
  let conflicts = 0;
  let merged = 0;
  fc.assert(
    fc.property(data, writesOf(patch), (first, writes) => {
      const end = receive(first, writes);
      conflicts += end.conflicts;
      merged += Math.max(0, end.accepted.length - 1);
      return end.accepted.every(({ delta }) => isDone(end.data, delta, first));
    }),
    runs,
  );
  t.true(conflicts > 0 && merged > 0, 'some writes conflict, and some merge');
});

test('a write without concurrent ones is the merge patch of RFC 7396', (t) => {
  fc.assert(
    fc.property(data, patch, (first, delta) => {
      const write = { delta, changedAt: new Date(0), deviceId: 'd' };
      const end = receive(first, [write]);
      t.deepEqual(end.data, applyPatch(first, delta));
    }),
    runs,
  );
  t.pass();
});

test('writes of different fields never conflict, and converge in every order', (t) => {
  const leaves = ['/a/x', '/a/y', '/b/x', '/b/y', '/c', '/d'];
  const first = { a: { x: 0, y: 0 }, b: { x: 0 }, c: 0 };
  const shares = fc.array(fc.record({ owner: fc.nat(3), to: fc.option(value) }), {
    minLength: leaves.length,
    maxLength: leaves.length,
  });
  const orders = fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 });
  fc.assert(
    fc.property(shares, orders, (shares, order) => {
      const writes = [0, 1, 2, 3].map((device) => {
        const own = leaves.flatMap((pointer, index) =>
          shares[index]?.owner === device ? [patchOf(pointer, shares[index].to)] : [],
        );
        const delta = Object.assign({}, ...joined(own)) as JsonObject;
        return { delta, changedAt: new Date(0), deviceId: `d${device}` };
      });
      const [straight, other] = [writes, order.flatMap((index) => writes[index] ?? [])].map(
        (arrived) => receive(first, arrived),
      );
      t.is(straight?.conflicts, 0);
      t.is(other?.conflicts, 0);
      t.deepEqual(other?.data, straight?.data);
    }),
    runs,
  );
});

function patchOf(pointer: string, to: unknown): JsonObject {
  const [name = '', below] = pointer.slice(1).split('/');
  return { [name]: below === undefined ? to : { [below]: to } };
}

/** Joins patches of one object into one patch for each member. */
function joined(patches: readonly JsonObject[]): JsonObject[] {
  const byName = Map.groupBy(patches, (patch) => Object.keys(patch)[0] ?? '');
  return [...byName].map(([name, of]) => {
    const members = of.map((patch) => patch[name]);
    return { [name]: members.every(isObject) ? Object.assign({}, ...members) : members[0] };
  });
}

const numbers = fc.integer({ min: 0, max: 4 });
const sets = fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 });
const anything: fc.Arbitrary<unknown> = fc.oneof(value, fc.constant(null));

/** [rule, generator of the values that fields are set to] */
const independent: [Rule, fc.Arbitrary<unknown>][] = [
  ['LAST_WRITE_WINS', anything],
  ['MAX', numbers],
  ['MIN', numbers],
  ['UNION', sets],
];

for (const [rule, to] of independent) {
  test(`under ${rule} writes converge in every order of arrival`, (t) => {
    const field = fc.dictionary(fc.constantFrom('x', 'y'), to, { noNullPrototype: true });
    const delta = fc.record({ a: field, b: field }, { requiredKeys: [], noNullPrototype: true });
    let crossed = 0;
    fc.assert(
      fc.property(ordered(delta), ({ writes, other }) => {
        const [straight, shuffled] = [writes, other].map((arrived) =>
          receive({ a: {}, b: {} }, arrived, () => rule),
        );
        t.is(straight?.conflicts, 0);
        t.is(shuffled?.conflicts, 0);
        if (writes.length > 1) crossed += 1;
        t.is(asSets(shuffled?.data), asSets(straight?.data));
      }),
      runs,
    );
    t.true(crossed > 0);
  });
}

/** Sorts arrays, since a set keeps its order until it is united with another. */
function asSets(now: JsonObject = {}): string {
  const leaves = leavesOf(now).map((pointer) => {
    const names = pointer.slice(1).split('/');
    const leaf = names.reduce<unknown>((at, name) => memberOf(at, name), now);
    return [
      pointer,
      Array.isArray(leaf) ? [...new Set(leaf)].map(String).toSorted() : leaf,
    ] as const;
  });
  return canonicalText(Object.fromEntries(leaves));
}
