import test from 'ava';
import { resolvePatch } from '../../../app/sync/merge/edits.ts';
import { mergePatch, mergeRemoval } from '../../../app/sync/merge/merge.ts';
import type { Change, Rule } from '../../../app/sync/merge/rules.ts';

const at = (second: number, deviceId = 'a'): Change => ({
  changedAt: new Date(second * 1000),
  deviceId,
});

/** Merges a change that the client made at second 10 with others that were made at second 5. */
function merge(
  data: Record<string, unknown>,
  delta: Record<string, unknown>,
  touched: readonly string[] = [],
  rules: Record<string, Rule> = {},
  by = at(10),
) {
  const since = {
    touched: new Map(touched.map((field) => [field, at(5, 'b')])),
    by,
    ruleOf: (pointer: string) => rules[pointer],
  };
  const merged = mergePatch(data, resolvePatch(data, delta), since);
  return 'conflicts' in merged
    ? { conflicts: merged.conflicts }
    : { data: merged.data, changed: merged.changed.toSorted(), rule: merged.ruleApplied };
}

test('a patch applies to fields that nobody else changed', (t) => {
  t.deepEqual(merge({ a: 1, b: { c: 2, d: [3] } }, { a: null, b: { c: 5 }, e: {} }, ['/b/d']), {
    data: { b: { c: 5, d: [3] }, e: {} },
    changed: ['/a', '/b/c', '/e'],
    rule: 'FIELD_MERGE',
  });
});

test('a field that is set to its present value counts as unchanged', (t) => {
  const same = { data: { a: { b: [1] } }, changed: [], rule: 'IDENTICAL' };
  t.deepEqual(merge({ a: { b: [1] } }, { a: { b: [1] } }), same);
  t.deepEqual(merge({ a: { b: [1] } }, { a: { b: [1] } }, ['/a/b']), same);
  t.deepEqual(merge({ a: { b: [1] } }, { a: {} }), same);
  t.deepEqual(merge({ a: { b: [1] } }, { x: null }, ['/x']), same);
});

test('an array is one field', (t) => {
  t.deepEqual(merge({ a: [1, 2] }, { a: [1, 3] }, ['/a']), { conflicts: ['/a'] });
});

/** [title, data now, fields that others changed, the patch, conflicts or the merged data] */
const ancestors: [string, object, string[], object, string[] | object][] = [
  [
    'an object in which a field changed is replaced',
    { a: { b: 1, c: 2 } },
    ['/a/b'],
    { a: 5 },
    ['/a/b'],
  ],
  [
    'an object in which a field changed is removed',
    { a: { b: 1, c: 2 } },
    ['/a/b'],
    { a: null },
    ['/a/b'],
  ],
  [
    'an object in which a field was added is removed',
    { a: { d: 1 } },
    ['/a/d'],
    { a: null },
    ['/a/d'],
  ],
  [
    'an object in which a nested field changed is removed',
    { a: { b: { c: 1 } } },
    ['/a/b/c'],
    { a: null },
    ['/a/b/c'],
  ],
  [
    'an object with two changed fields is replaced by an array',
    { a: { b: 1, c: 2 } },
    ['/a/b', '/a/c'],
    { a: [] },
    ['/a/b', '/a/c'],
  ],
  [
    'a field changes in an object that was replaced',
    { a: 6 },
    ['/a', '/a/b'],
    { a: { b: 1 } },
    ['/a/b'],
  ],
  ['a field changes in an object that was removed', {}, ['/a', '/a/b'], { a: { b: 1 } }, ['/a/b']],
  ['a field is added to an object that was removed', {}, ['/a', '/a/b'], { a: { z: 1 } }, ['/a/z']],
  [
    'a field is added deep below a removed object',
    {},
    ['/a', '/a/b'],
    { a: { y: { z: 1 } } },
    ['/a/y/z'],
  ],
  ['both replaced a value, one by an object', { a: 6 }, ['/a'], { a: { b: 1 } }, ['/a/b']],
  [
    'both replaced a value by objects',
    { a: { b: 1 } },
    ['/a', '/a/b'],
    { a: { c: 2 } },
    { a: { b: 1, c: 2 } },
  ],
  [
    'a field is removed that was removed with its object',
    {},
    ['/a', '/a/b'],
    { a: { b: null } },
    {},
  ],
  ['an object is removed that lost a field', { a: { c: 1 } }, ['/a/b'], { a: null }, {}],
  ['an object is removed that lost its last field', { a: {} }, ['/a/b'], { a: null }, {}],
  [
    'a field is added where another was removed',
    { a: {} },
    ['/a/b'],
    { a: { c: 1 } },
    { a: { c: 1 } },
  ],
  [
    'both made the same object, one with a field',
    { a: { b: 1 } },
    ['/a/b'],
    { a: {} },
    { a: { b: 1 } },
  ],
  [
    'both made the same object, the other with a field',
    { a: {} },
    ['/a'],
    { a: { b: 1 } },
    { a: { b: 1 } },
  ],
  ['one made an object, the other a value', { a: {} }, ['/a'], { a: 1 }, ['/a']],
  [
    'a field next to the changed one is removed',
    { a: { b: 1, c: 2 } },
    ['/a/b'],
    { a: { c: null } },
    { a: { b: 1 } },
  ],
  [
    'a name is a prefix of the changed one',
    { ab: { c: 1 }, a: { c: 1 } },
    ['/ab/c'],
    { a: null },
    { ab: { c: 1 } },
  ],
  [
    'names contain slashes and tildes',
    { 'a/b': 1, a: { b: 1 }, '~1': 0 },
    ['/a~1b'],
    { a: null, '~1': 2 },
    { 'a/b': 1, '~1': 2 },
  ],
];

for (const [what, data, touched, delta, expected] of ancestors) {
  test(`two devices: ${what}`, (t) => {
    const result = merge({ ...data }, { ...delta }, touched);
    const conflicts = Array.isArray(expected);
    t.deepEqual(
      conflicts ? result : { data: result.data },
      conflicts ? { conflicts: expected } : { data: expected },
    );
  });
}

test('removing an object changes the object and every leaf below it', (t) => {
  const data = { a: { b: 1, c: { d: 2 } }, e: 3 };
  t.deepEqual(merge(data, { a: null, e: { f: 1 } }).changed, [
    '/a',
    '/a/b',
    '/a/c/d',
    '/e',
    '/e/f',
  ]);
});

/** [rule, value at the server, value of the client, second of the client, result] */
const settled: [Rule, unknown, unknown, number, unknown][] = [
  ['SERVER_WINS', 1, 2, 10, 1],
  ['CLIENT_WINS', 1, 2, 1, 2],
  ['LAST_WRITE_WINS', 1, 2, 6, 2],
  ['LAST_WRITE_WINS', 1, 2, 4, 1],
  ['LAST_WRITE_WINS', 1, null, 6, undefined],
  ['LAST_WRITE_WINS', undefined, 2, 6, 2],
  ['MAX', 1, 2, 1, 2],
  ['MAX', 2, 1, 10, 2],
  ['MIN', 1, 2, 10, 1],
  ['MIN', 2, 1, 1, 1],
  ['UNION', ['b', 'a'], ['c', 'b'], 1, ['a', 'b', 'c']],
];

for (const [rule, server, client, second, left] of settled) {
  const values = `${JSON.stringify(server)} and ${JSON.stringify(client)}`;
  test(`${rule} of ${values} at ${second} is ${JSON.stringify(left)}`, (t) => {
    const data = server === undefined ? {} : { f: server };
    const result = merge(data, { f: client, o: 1 }, ['/f'], { '/f': rule }, at(second));
    t.deepEqual(result.data, { ...(left === undefined ? {} : { f: left }), o: 1 });
    t.is(result.rule, rule);
  });
}

test('of writes at the same time the one of the greater device id wins', (t) => {
  const rules = { '/f': 'LAST_WRITE_WINS' } as const;
  t.deepEqual(merge({ f: 1 }, { f: 2 }, ['/f'], rules, at(5, 'c')).data, { f: 2 });
  t.deepEqual(merge({ f: 1 }, { f: 2 }, ['/f'], rules, at(5, 'a')).data, { f: 1 });
});

test('a rule that does not fit the values resolves nothing', (t) => {
  for (const rule of ['MAX', 'MIN', 'UNION'] as const) {
    t.deepEqual(merge({ f: 'x' }, { f: 2 }, ['/f'], { '/f': rule }), { conflicts: ['/f'] });
    t.deepEqual(merge({}, { f: 2 }, ['/f'], { '/f': rule }), { conflicts: ['/f'] });
  }
});

test('the rules of all leaves below decide whether an object is removed as a whole', (t) => {
  const data = { a: { b: 1, c: 2 } };
  const both = ['/a/b', '/a/c'];
  const rulesOf = (b: Rule, c: Rule) => ({ '/a/b': b, '/a/c': c });
  const client = rulesOf('CLIENT_WINS', 'CLIENT_WINS');
  t.deepEqual(merge(data, { a: null }, both, client).data, {});
  const server = rulesOf('SERVER_WINS', 'SERVER_WINS');
  t.deepEqual(merge(data, { a: null }, both, server).data, data);
  t.deepEqual(merge(data, { a: null }, ['/a/b'], server), { conflicts: ['/a/b'] });
  const mixed = rulesOf('SERVER_WINS', 'CLIENT_WINS');
  t.deepEqual(merge(data, { a: null }, both, mixed), { conflicts: both });
});

test('every conflicting field is named, and nothing else is merged', (t) => {
  const data = { a: 1, b: 2, c: 3, d: 4 };
  const delta = { b: 0, a: 0, c: 0, d: 0 };
  t.deepEqual(merge(data, delta, ['/a', '/b', '/c'], { '/c': 'CLIENT_WINS' }), {
    conflicts: ['/a', '/b'],
  });
});

test('an object is removed unless another device changed something in it', (t) => {
  const since = (touched: string[], rule?: Rule) => ({
    touched: new Map(touched.map((field) => [field, at(5, 'b')])),
    by: at(10),
    ruleOf: () => rule,
  });
  const data = { a: { b: 1 }, c: 2 };
  t.deepEqual(mergeRemoval(data, since([])), { ruleApplied: 'FIELD_MERGE' });
  t.deepEqual(mergeRemoval(data, since(['/gone'])), { ruleApplied: 'FIELD_MERGE' });
  t.deepEqual(mergeRemoval(data, since(['/c', '/a/b'])), { conflicts: ['/a/b', '/c'] });
  t.deepEqual(mergeRemoval(data, since(['/c'], 'LAST_WRITE_WINS')), {
    ruleApplied: 'LAST_WRITE_WINS',
  });
  t.deepEqual(mergeRemoval(data, since(['/c'], 'SERVER_WINS')), { conflicts: ['/c'] });
});

test('names of prototypes are names like any other', (t) => {
  const named = JSON.parse(
    '{"constructor":{"prototype":{"x":1}},"toString":1,"__proto__":{"y":2}}',
  );
  const { data, changed } = merge({}, named);
  t.deepEqual(Object.keys(data ?? {}).toSorted(), ['__proto__', 'constructor', 'toString']);
  t.deepEqual(changed, ['/__proto__/y', '/constructor/prototype/x', '/toString']);
  t.is(Object.getPrototypeOf(data), Object.prototype);
  t.false('y' in {} || 'x' in Object);
  t.deepEqual(merge({}, { constructor: null, a: { valueOf: null } }).data, { a: {} });
});
