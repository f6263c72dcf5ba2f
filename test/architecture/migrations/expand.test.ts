import test from 'ava';
import { baseline, connectOwner, planMigrations } from '../../../app/db/migrating/migrate.ts';
import type { MigrationPlan } from '../../../app/db/migrating/plan.ts';
import { expandProblems } from './expand.ts';

test('the release before works with every migration after the baseline', async (t) => {
  // Nothing is connected to: the SQL alone is read.
  const orm = await connectOwner('postgresql://owner@127.0.0.1:1/vault');
  t.teardown(() => orm.close());
  const plans = planMigrations(orm);
  const last = plans.findIndex(({ name }) => name === baseline);
  t.true(last >= 0, 'the baseline is a migration');
  t.deepEqual(plans.slice(last + 1).flatMap(expandProblems), []);
});

const migration = (statement: string, rest: Partial<MigrationPlan> = {}): MigrationPlan => ({
  name: 'Migration',
  statements: [statement],
  isTransactional: true,
  ...rest,
});

const refused: Readonly<Record<string, RegExp>> = {
  'drop table documents': /drops/,
  'DROP INDEX documents_place': /drops/,
  'drop policy documents_service on documents': /drops/,
  'alter table documents drop column place': /drops/,
  'alter table only documents drop place': /drops/,
  'drop function reckon()': /drops/,
  'drop policy documents_owner on documents': /drops/,
  'alter table documents rename to papers': /renames/,
  'alter table documents rename column place to at': /renames/,
  'alter policy a on documents rename to b': /renames/,
  'alter table documents alter column place type text': /type/,
  'alter table documents alter place set data type text': /type/,
  'alter table documents add constraint c check (place is not null)': /not valid/,
  'alter table documents add column at text check (length(at) < 9)': /not valid/,
  'alter table documents add foreign key (a) references accounts (id)': /not valid/,
  'alter table documents add column a uuid references accounts (id)': /not valid/,
  'alter table documents add constraint c unique (place)': /key under a lock/,
  'alter table documents alter column place set not null': /asks for a value/,
  'alter table documents add column a int not null': /asks for a value/,
  'alter table documents add a int not null, add b int default 1': /asks for a value/,
  'create policy more on documents for select to probatio_app using (true)': /to more rows/,
  'create policy more on documents as permissive using (true)': /to more rows/,
  'alter policy documents_owner on documents using (true)': /changes a policy/,
  'create function f() returns int language sql security definer as $$ select 1 $$': /the owner/,
  'alter function f() security definer': /the owner/,
  'create index documents_place on documents (place)': /under a lock/,
  'create unique index on public.documents (place)': /under a lock/,
  'select 1; create index if not exists d on documents (place)': /under a lock/,
  '-- A remark.\ncreate index d on documents (place)': /under a lock/,
  'create index concurrently d on documents (place)': /concurrently in a transaction/,
};

for (const [statement, reason] of Object.entries(refused)) {
  test(`a migration is refused that runs: ${statement}`, (t) => {
    const found = expandProblems(migration(statement));
    t.is(found.length, 1, found.join('\n'));
    t.regex(found[0] ?? '', reason);
  });
}

const accepted = [
  'create table papers (id uuid primary key, a text not null check (a <> 1))',
  'create table papers (id uuid); create index papers_id on papers (id)',
  'create table papers (id uuid); alter table papers add primary key (id)',
  'create table papers (id uuid); create policy papers_all on papers using (true)',
  'create policy less on documents as restrictive for insert with check (place is not null)',
  'alter table documents add column a int',
  'alter table documents add column a int not null default 0',
  'alter table documents add constraint c check (place is not null) not valid',
  'alter table documents validate constraint c',
  'alter table documents add constraint c unique using index documents_place',
  'alter table documents alter column place drop not null',
  'create index documents_place on only documents (place)',
  "comment on table documents is 'drop table; it''s an alter table documents rename'",
  'create or replace function f() returns void language plpgsql as $$ begin drop table x; end $$',
] as const;

for (const statement of accepted) {
  test(`a migration is accepted that runs: ${statement}`, (t) => {
    t.deepEqual(expandProblems(migration(statement)), []);
  });
}

test('a migration that says which release made it safe may remove something', (t) => {
  t.deepEqual(expandProblems(migration('drop table documents', { safeSince: '0.2.0' })), []);
});

test('outside of a transaction a migration holds statements that may run again', (t) => {
  const outside = (...statements: readonly string[]) =>
    expandProblems(migration('', { statements, isTransactional: false }));
  t.deepEqual(
    outside(
      'create index if not exists d on only documents (a)',
      'create index concurrently d1 on documents_1 (a)',
      'alter index d attach partition d1',
      'alter table documents validate constraint c',
    ),
    [],
  );
  t.regex(outside('alter table documents add a int').join(), /cannot run again/);
  t.regex(outside('drop index concurrently if exists d').join(), /drops/);
  const index = 'create index concurrently d on documents (a)';
  t.regex(outside(`${index}; ${index.replace(' d ', ' e ')}`).join(), /several statements/);
});
