import test from 'ava';
import { boundaryProblems, devProblems } from './rules/boundaries.ts';
import { fileCycles, folderCycles } from './rules/folder-cycles.ts';
import { readSources, type SourceFile } from './source/sources.ts';

const sources = readSources();

for (const top of ['app/dev', 'signer', 'client', 'k8s']) {
  test(`no folders of ${top} import each other in a circle`, (t) => {
    t.deepEqual(folderCycles(sources, top), []);
  });
}

test('folders that import each other in a circle are found and named', (t) => {
  const files: readonly SourceFile[] = [
    { path: 'client/main.ts', text: "import './login/a.ts';" },
    { path: 'client/login/a.ts', text: "import '../http/b.ts';" },
    { path: 'client/http/b.ts', text: "import type { C } from './retry/c.ts';" },
    { path: 'client/http/retry/c.ts', text: "import '../../login/a.ts';" },
    { path: 'client/srp/d.ts', text: "import '../login/a.ts';" },
  ];
  t.deepEqual(folderCycles(files, 'client'), [
    'client: folders import each other (client/login → client/http, ' +
      'client/http → client/http/retry, client/http/retry → client/login): cut one direction.',
  ]);
  t.deepEqual(folderCycles(files, 'client/http'), []);
});

test('no files import each other in a circle', (t) => {
  t.deepEqual(fileCycles(sources), []);
});

test('files that import each other by types alone are found', (t) => {
  const files: readonly SourceFile[] = [
    { path: 'app/db/a.ts', text: "import { b } from './b.ts';" },
    { path: 'app/db/b.ts', text: "import type { A } from './a.ts';" },
    { path: 'app/db/c.ts', text: "import './a.ts';" },
  ];
  t.deepEqual(fileCycles(files), [
    'app/db/a.ts, app/db/b.ts import each other: cut one direction.',
  ]);
});

test('a circle through the top folder itself is found', (t) => {
  const files: readonly SourceFile[] = [
    { path: 'signer/main.ts', text: "import './hsm/token.ts';" },
    { path: 'signer/hsm/token.ts', text: "import '../config.ts';" },
    { path: 'signer/config.ts', text: '' },
  ];
  t.is(folderCycles(files, 'signer').length, 1);
});

test('app imports only protocol and log of the signer, and the explorer of the client', (t) => {
  t.deepEqual(boundaryProblems(sources), []);
});

const allowed = [
  ['app/keys/a.ts', "import '../../signer/protocol/frames.ts';"],
  ['app/keys/a.ts', "import '@probatio/signer/protocol/frames.ts';"],
  ['app/telemetry/a.ts', "import '../../signer/log/log.ts';"],
  ['app/http/a.ts', "new URL('../../client/explorer/main.ts', import.meta.url);"],
  ['client/http/a.ts', "import '../bytes/b.ts';\nimport '@noble/hashes/sha2.js';"],
  ['k8s/vault/a.ts', "import '../../signer/protocol/frames.ts';"],
  ['test/keys/a.ts', "import '../../signer/hsm/token.ts';"],
] as const;

for (const [path, text] of allowed) {
  test(`an import within the boundaries is allowed: ${path}: ${text}`, (t) => {
    t.deepEqual(boundaryProblems([{ path, text }]), []);
  });
}

const crossing = [
  ['app/keys/a.ts', '../../signer/hsm/token.ts', 'signer/hsm/token.ts'],
  ['app/keys/a.ts', '@probatio/signer/hsm/token.ts', 'signer/hsm/token.ts'],
  ['app/keys/a.ts', '../../client/vault.ts', 'client/vault.ts'],
  ['app/http/a.ts', '../../client/explorer-x.ts', 'client/explorer-x.ts'],
  ['signer/hsm/a.ts', '../../app/config/config.ts', 'app/config/config.ts'],
  ['signer/hsm/a.ts', '../../client/vault.ts', 'client/vault.ts'],
  ['k8s/vault/a.ts', '../../app/maintenance/schema.ts', 'app/maintenance/schema.ts'],
  ['app/keys/a.ts', '../../k8s/vault/a.ts', 'k8s/vault/a.ts'],
  ['client/keys/a.ts', '../../app/srp/srp.ts', 'app/srp/srp.ts'],
  ['client/keys/a.ts', '@probatio/signer/protocol/frames.ts', 'signer/protocol/frames.ts'],
  ['client/keys/a.ts', '../../test/vault.ts', 'test/vault.ts'],
] as const;

for (const [path, specifier, target] of crossing) {
  test(`an import across a boundary is found: ${path} of ${specifier}`, (t) => {
    const [problem, ...others] = boundaryProblems([{ path, text: `import '${specifier}';` }]);
    t.true(problem?.startsWith(`${path}:1 imports ${target}: `));
    t.deepEqual(others, []);
  });
}

test('the app runs without app/dev', (t) => {
  t.deepEqual(devProblems(sources), []);
});

test('an import of app/dev by the rest of the app is found', (t) => {
  const files: readonly SourceFile[] = [
    { path: 'app/main.ts', text: "await import('./dev/stack/stack.ts');" },
    { path: 'app/dev/start.ts', text: "import './stack/stack.ts';\nimport '../main.ts';" },
    { path: 'app/devices/a.ts', text: "import './b.ts';" },
  ];
  t.deepEqual(devProblems(files), [
    'app/main.ts:1 imports app/dev/stack/stack.ts: move what the app needs out of app/dev.',
  ]);
});
