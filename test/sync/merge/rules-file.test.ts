import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { readSyncRules } from '../../../app/sync/merge/rules-file.ts';
import { ruleOf } from '../../../app/sync/merge/rules.ts';

async function read(json: unknown) {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-rules-'));
  const file = path.join(directory, 'rules.json');
  await writeFile(file, typeof json === 'string' ? json : JSON.stringify(json));
  const result = readSyncRules(file);
  await rm(directory, { recursive: true });
  return result;
}

test('a rule holds for its field and all below it, and the nearest one applies', async (t) => {
  const { rules, problems } = await read({
    note: { public: ['/n'], rules: { '': 'LAST_WRITE_WINS', '/a': 'SERVER_WINS', '/n/x': 'MAX' } },
    '*': { rules: { '/a~1b': 'CLIENT_WINS' } },
  });
  t.deepEqual(problems, []);
  t.is(ruleOf(rules, 'note', '/a'), 'SERVER_WINS');
  t.is(ruleOf(rules, 'note', '/a/b/c'), 'SERVER_WINS');
  t.is(ruleOf(rules, 'note', '/ab'), 'LAST_WRITE_WINS');
  t.is(ruleOf(rules, 'note', '/n/x'), 'MAX');
  for (const type of [null, 'other', 'constructor']) {
    t.is(ruleOf(rules, type, '/a~1b'), 'CLIENT_WINS');
    t.is(ruleOf(rules, type, '/a'), undefined);
  }
});

test('an invalid file is refused with types and fields, but without values', async (t) => {
  const refused: [unknown, RegExp][] = [
    ['{', /^names a file that is not JSON; /],
    [[], /expected record/],
    [{ 'a b': { rules: {} } }, /^a b: must be a type/],
    [{ note: { rules: { a: 'MAX' } } }, /^note: rules: a: must be a type, or the JSON Pointer/],
    [{ note: { rules: { '/a~2': 'MAX' } } }, /JSON Pointer/],
    [{ note: { rules: { '/a': 'NEWEST' } } }, /^note: rules: \/a: /],
    [{ note: { rules: {}, other: 1 } }, /^note: /],
    [
      { note: { public: ['/b'], rules: { '/a': 'UNION' } } },
      /^note: \/a: must be public for UNION$/,
    ],
    [{ note: { rules: { '': 'MIN' } } }, /^note: : must be public for MIN$/],
  ];
  for (const [json, problem] of refused) {
    const { rules, problems } = await read(json);
    t.regex(problems[0] ?? '', problem, JSON.stringify(json));
    t.is(rules.size, 0);
  }
  t.deepEqual(readSyncRules('/nowhere/rules.json').problems, [
    'names a file that does not exist; create it or correct the path',
  ]);
});
