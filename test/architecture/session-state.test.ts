import test from 'ava';
import { sessionStateProblems, type SessionException } from './rules/session-state.ts';
import { readSources } from './source/sources.ts';

const reason = 'The owner connects to Postgres directly, as docs/postgres.md asks.';
const exceptions: readonly SessionException[] = [
  { file: 'app/db/migrating/migrate.ts', reason },
  { file: 'app/db/migrating/owner-session.ts', reason },
  { file: 'app/db/migrating/run-migrations.ts', reason },
];

const problems = (text: string, path = 'app/maintenance/lock.ts') =>
  sessionStateProblems([{ path, text }], []);

test('the app keeps no state in a database session', (t) => {
  t.deepEqual(sessionStateProblems(readSources(), exceptions), []);
});

const lasting = [
  "client.query('select pg_advisory_lock(1)');",
  "client.query('select pg_try_advisory_lock($1) as locked');",
  'sql`select pg_advisory_unlock_all()`;',
  'sql`set statement_timeout = ${ms}`;',
  'sql`begin; set lock_timeout to 5`;',
  'sql`SET SESSION search_path = public`;',
  "sql`select set_config('app.user_id', ${id}, false)`;",
  'sql`set role probatio_service`;',
  'sql`reset all`;',
  'sql`listen ${channel}`;',
  "client.query('listen changes');",
  'sql`create temp table rows (id uuid)`;',
  'sql`select id into temporary rows from documents`;',
  'sql`declare rows cursor with hold for select 1`;',
  'sql`prepare find as select 1`;',
  "MikroORM.init({ driverOptions: { options: '-c row_security=off' } });",
  'new Client({ statement_timeout: 5_000 });',
] as const;

for (const text of lasting) {
  test(`a use of a session's state is found: ${text}`, (t) => {
    const found = problems(text);
    t.is(found.length, 1, found.join('\n'));
    t.regex(found[0] ?? '', /^app\/maintenance\/lock\.ts:1 uses /);
  });
}

const passing = [
  '// select pg_advisory_lock(1)',
  'sql`select pg_advisory_xact_lock(1)`;',
  'sql`begin; set local statement_timeout = 5; set local lock_timeout = 5`;',
  "sql`select set_config('app.user_id', ${id}, true)`;",
  'sql`update documents set status = ${status}`;',
  'sql`declare rows cursor for select 1`;',
  "const text = 'names a role: alter role app set search_path = public';",
  "log.info('listening');",
  "const remedy = 'must not be 0; set it to 1';",
] as const;

for (const text of passing) {
  test(`the state of a transaction is allowed: ${text}`, (t) => {
    t.deepEqual(problems(text), []);
  });
}

test('the development stack, which starts Postgres, is left out', (t) => {
  t.deepEqual(problems('sql`select pg_advisory_lock(1)`;', 'app/dev/stack.ts'), []);
});

test('an exception that is not needed any more is found', (t) => {
  const exception = { file: 'app/old.ts', reason: 'It had a lock.' };
  t.deepEqual(sessionStateProblems([], [exception]), [
    'app/old.ts has an exception that it does not need: remove the exception.',
  ]);
});
