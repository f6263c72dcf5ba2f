import test from 'ava';
import { dependencyProblems, exportProblems, versionProblems } from './rules/packages.ts';
import { readManifests, type Manifest } from './source/manifests.ts';
import { readSources } from './source/sources.ts';

const sources = readSources();
const manifests = readManifests();

const root: Manifest = {
  folder: '.',
  version: '1.0.0',
  dependencies: { node: '24.0.0' },
  devDependencies: { ava: '7.0.0' },
};
const client: Manifest = {
  folder: 'client',
  version: '1.0.0',
  dependencies: { '@noble/hashes': '2.0.0' },
  exports: { '.': './dist/vault.js', './package.json': './package.json' },
};
const app: Manifest = {
  folder: 'app',
  version: '1.0.0',
  dependencies: { koa: '3.0.0' },
  devDependencies: { explorer: '5.0.0' },
};

const kept = [
  {
    path: 'client/vault.ts',
    text: "import 'node:fs';\nimport './a.ts';\nimport { sha3 } from '@noble/hashes/sha3.js';",
  },
  {
    path: 'app/main.ts',
    text: "import type { Context } from 'koa';\nimport.meta.resolve('explorer');",
  },
  { path: 'test/a.test.ts', text: "import test from 'ava';" },
];

function unlisted(path: string, text: string): readonly string[] {
  return dependencyProblems([...kept, { path, text }], [root, client, app]);
}

test('each workspace lists the packages that it imports, and no others', (t) => {
  t.deepEqual(
    manifests.map(({ folder }) => folder),
    ['.', 'app', 'signer', 'client', 'k8s'],
  );
  t.deepEqual(dependencyProblems(sources, manifests), []);
});

test('packages of the own workspace, of Node and of the project are allowed', (t) => {
  t.deepEqual(dependencyProblems(kept, [root, client, app]), []);
});

const breaches = [
  ['client/a.ts', "import { b } from 'koa';", 'koa', 'client/package.json'],
  ['client/a.ts', "import type { B } from '@scope/b/c.js';", '@scope/b', 'client/package.json'],
  ['client/a.ts', "export * from 'ava';", 'ava', 'client/package.json'],
  ['client/a.ts', "const b = await import('node');", 'node', 'client/package.json'],
  ['app/b.ts', "import '@noble/hashes';", '@noble/hashes', 'app/package.json'],
  ['app/b.ts', "import 'explorer';", 'explorer', 'app/package.json'],
  ['test/c.ts', "import 'koa';", 'koa', 'package.json'],
  ['setup.mjs', "import 'ava';", 'ava', 'package.json'],
] as const;

for (const [path, text, name, place] of breaches) {
  test(`an import of a package that is not listed is found: ${path}: ${text}`, (t) => {
    t.deepEqual(unlisted(path, text), [`${path}:1 imports ${name}, which ${place} does not list.`]);
  });
}

test('devDependencies are for development: app/dev may import them', (t) => {
  t.deepEqual(unlisted('app/dev/start.ts', "import 'explorer';"), []);
});

test('a package that a workspace lists but does not import is found', (t) => {
  const dependencies = { ...client.dependencies, idb: '8.0.0' };
  t.deepEqual(dependencyProblems(kept, [root, { ...client, dependencies }, app]), [
    'client lists idb but does not import it: remove it.',
  ]);
});

test('every version is exact, and the same in all packages', (t) => {
  t.deepEqual(versionProblems(manifests), []);
  t.deepEqual(versionProblems([root, client, app]), []);
});

for (const range of ['^2.0.0', '~2.0.0', '2', '*', '>=2.0.0', 'latest', 'file:../hashes']) {
  test(`a version that is not exact is found: ${range}`, (t) => {
    const dependencies = { '@noble/hashes': range };
    t.deepEqual(versionProblems([root, { ...client, dependencies }]), [
      `client asks for @noble/hashes ${range}: name one exact version.`,
    ]);
  });
}

test('versions that differ between packages are found', (t) => {
  const other = { ...app, version: '1.0.1', devDependencies: { '@noble/hashes': '2.0.1' } };
  t.deepEqual(versionProblems([root, client, other]), [
    'app has version 1.0.1, not 1.0.0.',
    'app asks for @noble/hashes 2.0.1, another package for 2.0.0: take one.',
  ]);
});

test('every entry point that a package exports has a source file', (t) => {
  t.deepEqual(exportProblems(sources, manifests), []);
  t.deepEqual(exportProblems(kept, [root, client, app]), []);
});

test('an entry point without a source file is found', (t) => {
  const exports = { ...client.exports, './session': './dist/session.js' };
  t.deepEqual(exportProblems(kept, [{ ...client, exports }]), [
    'client exports ./session, but client/session.ts does not exist.',
  ]);
});
