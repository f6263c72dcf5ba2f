import test from 'ava';
import { columnProblems } from './rules/columns.ts';
import { readSources } from './source/sources.ts';

test('statements of the app name their columns', (t) => {
  t.deepEqual(columnProblems(readSources()), []);
});

const starred = [
  "tx.selectFrom('devices').selectAll().execute();",
  "tx.deleteFrom('devices').returningAll('devices');",
  'sql`select * from devices`;',
  'sql`delete from devices returning *`;',
  'sql`select d.* from devices d`;',
  'sql`select d.version, d.* from devices d`;',
] as const;

for (const text of starred) {
  test(`a statement with * is found: ${text}`, (t) => {
    const found = columnProblems([{ path: 'app/devices/devices.ts', text }]);
    t.deepEqual(found, ['app/devices/devices.ts:1 has a statement with *: name the columns.']);
  });
}

const plain = [
  '// select *',
  "tx.selectFrom('devices').select('version');",
  'sql`select count(*) from devices`;',
  'sql`select 2 * version from devices`;',
  'a * b;',
] as const;

for (const text of plain) {
  test(`a statement without * passes: ${text}`, (t) => {
    t.deepEqual(columnProblems([{ path: 'app/devices/devices.ts', text }]), []);
  });
}
