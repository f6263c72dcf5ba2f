import test from 'ava';
import { columnProblems } from './rules/columns.ts';
import { readSources } from './source/sources.ts';

const folders = ['app/auth', 'app/devices', 'app/sessions', 'app/tokens'];

test('statements of logins, sessions and devices name their columns', (t) => {
  t.deepEqual(columnProblems(readSources(), folders), []);
});

const starred = [
  "tx.selectFrom('devices').selectAll().execute();",
  "tx.deleteFrom('devices').returningAll('devices');",
  "select(({ fn }) => fn.countAll<number>().as('count'));",
  'sql`select * from devices`;',
  'sql`delete from devices returning *`;',
  'sql`select d.* from devices d`;',
  'sql`select count(*) from devices`;',
] as const;

for (const text of starred) {
  test(`a statement with * is found: ${text}`, (t) => {
    const found = columnProblems([{ path: 'app/devices/devices.ts', text }], folders);
    t.deepEqual(found, ['app/devices/devices.ts:1 has a statement with *: name the columns.']);
  });
}

for (const text of ['// select *', "tx.selectFrom('devices').select('version');", 'a * b;']) {
  test(`a statement without * passes: ${text}`, (t) => {
    t.deepEqual(columnProblems([{ path: 'app/devices/devices.ts', text }], folders), []);
  });
}
