import test from 'ava';
import { mutableMembers, screamingConstants } from './rules/dialect.ts';
import { readSources } from './source/sources.ts';

const sources = readSources();

/** Members that are assigned after construction. */
const assigned = [
  'app/async/fair-slots.ts taken',
  'client/sync/exchange/exchange.ts conflicts',
  'client/sync/exchange/exchange.ts restored',
  'client/sync/exchange/exchange.ts sent',
  'signer/pkcs11/token/connection.ts keyring',
  'test/architecture/source/scan.ts substituted',
  'test/architecture/source/scan.ts text',
  'test/audit/sealing/signer-proxy.ts fail',
  'test/faults/sync/network.ts isFaulty',
  'test/faults/sync/network.ts isOnline',
  'test/faults/sync/record.ts isKept',
];

function file(text: string, path = 'app/keys/keys.ts') {
  return { path, text };
}

test('no constant is named in capitals', (t) => {
  t.deepEqual(screamingConstants(sources), []);
});

test('a constant in capitals is found', (t) => {
  t.deepEqual(screamingConstants([file("const N = 1;\n  const M_1 = 2;\nconst url = 'A_B';")]), []);
  t.deepEqual(screamingConstants([file('\nexport const MAX_KEYS = 3;')]), [
    'app/keys/keys.ts:2 names a constant MAX_KEYS: use camelCase.',
  ]);
});

test('every member of an interface is readonly, but those that are assigned later', (t) => {
  t.deepEqual(mutableMembers(sources, assigned), []);
});

test('a member that is not readonly is found', (t) => {
  const text =
    'interface Key {\n  readonly id: string;\n  find(id: string): Key;\n  state: string;\n}';
  t.deepEqual(mutableMembers([file(text)], []), [
    'app/keys/keys.ts:1 has a member state that is not readonly.',
  ]);
  t.deepEqual(mutableMembers([file(text)], ['app/keys/keys.ts state']), []);
});
