import test from 'ava';
import { barrels } from './rules/barrels.ts';
import { headlessComments } from './rules/comments.ts';
import { crowdedFolders, longFiles, longLines } from './rules/sizes.ts';
import { readSources } from './source/sources.ts';

const sources = readSources();

function file(text: string, path = 'app/keys/keys.ts') {
  return { path, text };
}

test('no folder holds more than 12 files side by side', (t) => {
  t.deepEqual(crowdedFolders(sources), []);
});

test('a 13th file of a folder is found, but migrations and vectors may grow', (t) => {
  const fill = (folder: string, count: number) =>
    Array.from({ length: count }, (_, index) => file('', `${folder}/${index}.ts`));
  const uncrowded = [
    ...fill('app/keys', 12),
    ...fill('app/keys/rotation', 12),
    file('', 'app/keys/13.mjs'),
    ...fill('app/db/migrations', 13),
    ...fill('test/vectors/proofs', 13),
  ];
  t.deepEqual(crowdedFolders(uncrowded), []);
  t.deepEqual(crowdedFolders([...uncrowded, ...fill('client', 13)]), [
    'client holds 13 files, more than 12: group some in a folder.',
  ]);
});

test('no comment begins headless', (t) => {
  t.deepEqual(headlessComments(sources), []);
});

const headless = [
  '/** Of the ids those of the next page. */',
  '/**\n * The same for a restore.\n */',
  '/** What was cut off. */',
  '/* Whose key it is. */',
  'const key = read(); // who signed it',
  '// Keys are cached.\n\n// Whoever waits is told.',
  'const half = `${whole / 2 /* of a key */}`;',
  'const match = /[\'"`]/.test(text); // What is quoted.',
] as const;

for (const text of headless) {
  test(`a headless comment is found: ${text}`, (t) => {
    const found = headlessComments([file(text)]);
    t.is(found.length, 1);
    t.regex(found[0] ?? '', /^app\/keys\/keys\.ts:\d has a comment that begins with '/);
  });
}

const proper = [
  '/** Offers a key. */',
  '/** Returns the key\n * of the same account. */',
  '// Returns the key\n// of an account.',
  "const text = '// Of a key';",
  'const text = `/** What */`;',
  'const url = `https://Of`;',
] as const;

for (const text of proper) {
  test(`a comment with a head, or no comment, is left alone: ${text}`, (t) => {
    t.deepEqual(headlessComments([file(text)]), []);
  });
}

test('no line is longer than 100 columns', (t) => {
  t.deepEqual(longLines(sources), []);
});

test('a line of 101 columns is found', (t) => {
  const fitting = `// ${'x'.repeat(97)}\n`;
  t.deepEqual(longLines([file(fitting), file('x'.repeat(101), 'test/vectors/a.ts')]), []);
  t.deepEqual(longLines([file(`${fitting}${'x'.repeat(101)}\n`)]), [
    'app/keys/keys.ts:2 has 101 columns: break it at 100.',
  ]);
});

test('no file is longer than 300 lines', (t) => {
  t.deepEqual(longFiles(sources), []);
});

test('a file of 301 lines is found', (t) => {
  t.deepEqual(longFiles([file('x;\n'.repeat(300))]), []);
  t.deepEqual(longFiles([file('x;\n'.repeat(301))]), [
    'app/keys/keys.ts has 301 lines, more than 300: split it by idea.',
  ]);
});

test('no file is a barrel', (t) => {
  t.deepEqual(barrels(sources), []);
});

const barrelTexts = [
  "/** All keys. */\nexport * from './a.ts';\nexport type { B } from './b.ts';",
  "export * as keys from './a.ts';",
  "import { a } from './a.ts';\nimport type { B } from './b.ts';\nexport { a, type B };",
] as const;

for (const text of barrelTexts) {
  test(`a file that only re-exports is found: ${text}`, (t) => {
    t.deepEqual(barrels([file(text)]), [
      'app/keys/keys.ts only re-exports: import the files themselves.',
    ]);
  });
}

const noBarrels = [
  "import './a.ts';\nimport { b } from './b.ts';\nb();",
  "export { a } from './a.ts';\nexport const b = 1;",
  '',
] as const;

for (const text of noBarrels) {
  test(`a file with code of its own is no barrel: ${text}`, (t) => {
    t.deepEqual(barrels([file(text)]), []);
  });
}
