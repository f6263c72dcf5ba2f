import test from 'ava';
import { floors } from './floors.ts';
import { floorProblems } from './rules/floors.ts';
import { readSources, type SourceFile } from './source/sources.ts';

const house = [
  { name: 'process', folders: ['app'] },
  { name: 'features', folders: ['app/sharing', 'app/documents'] },
  { name: 'base', folders: ['app/http/routing', 'app/http'] },
];

const kept: readonly SourceFile[] = [
  { path: 'app/main.ts', text: "import '../app/sharing/a.ts';" },
  { path: 'app/sharing/a.ts', text: "import { b } from '../documents/b.ts';" },
  { path: 'app/documents/b.ts', text: "import './b.ts';" },
  { path: 'app/http/routing/c.ts', text: "import '../d.ts';" },
  { path: 'app/http/d.ts', text: "// import '../main.ts'\nconst text = \"import '../main.ts'\";" },
  { path: 'app/dev/e.ts', text: "import '../main.ts';" },
];

function withFile(path: string, text: string): readonly SourceFile[] {
  return [...kept.filter((file) => file.path !== path), { path, text }];
}

test('every folder of app/ stands on one floor and imports only from below', (t) => {
  t.deepEqual(floorProblems(readSources(), floors), []);
});

test('imports that run down, or stay in their folder, are allowed', (t) => {
  t.deepEqual(floorProblems(kept, house), []);
});

const upward = [
  ['a value', "import { a } from '../../sharing/a.ts';"],
  ['a type', "import type { A } from '../../sharing/a.ts';"],
  ['a type in place', "let a: import('../../sharing/a.ts').A;"],
  ['a side effect', "import '../../sharing/a.ts';"],
  ['a dynamic import', "const a = await import('../../sharing/a.ts');"],
  ['a re-export', "export { a } from '../../sharing/a.ts';"],
  ['a worker', "new Worker(new URL('../../sharing/a.ts', import.meta.url));"],
  ['a program', "join(import.meta.dirname, '../../sharing/a.ts');"],
  ['a module by its package', "import { a } from '@probatio/app/sharing/a.ts';"],
] as const;

for (const [kind, text] of upward) {
  test(`an import from a higher floor is found: ${kind}`, (t) => {
    t.deepEqual(floorProblems(withFile('app/http/routing/c.ts', `\n${text}`), house), [
      'app/http/routing/c.ts:2 imports app/sharing/a.ts from above (features): ' +
        'move what both need below.',
    ]);
  });
}

test('an import from a folder listed earlier on the same floor is found', (t) => {
  const [problem, ...others] = floorProblems(
    withFile('app/http/d.ts', "import './routing/c.ts';"),
    house,
  );
  t.regex(
    problem ?? '',
    /^app\/http\/d\.ts:1 imports app\/http\/routing\/c\.ts from above \(base\)/,
  );
  t.deepEqual(others, []);
});

test('a folder that stands on no floor is found, also one below a folder that does', (t) => {
  t.deepEqual(floorProblems(withFile('app/http/bodies/f.ts', ''), house), [
    'app/http/bodies stands on no floor: list it in floors.ts.',
  ]);
});

test('a folder that is listed twice, or holds no source file, is found', (t) => {
  const listed = [...house, { name: 'cellar', folders: ['app/http', 'app/gone'] }];
  t.deepEqual(floorProblems(kept, listed), [
    'app/gone holds no source file: remove it from floors.ts.',
    'app/http is listed more than once: keep one place in floors.ts.',
  ]);
});
