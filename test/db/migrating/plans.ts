import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { defaultRoles } from '../../../app/db/columns/roles.ts';
import { withOwnerSession } from '../../../app/db/migrating/owner-session.ts';
import type { MigrationPlan } from '../../../app/db/migrating/plan.ts';
import { runMigrations } from '../../../app/db/migrating/run-migrations.ts';
import { createDatabase, databaseUrls, dropDatabase } from '../../../app/dev/postgres/database.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { testStack } from '../../support/vault/stack.ts';

/** Creates an empty database, with a connection of the superuser. */
export async function emptyDatabase(t: ExecutionContext) {
  const { postgres } = testStack();
  const name = `migrating_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name);
  t.teardown(() => dropDatabase(postgres, name));
  const urls = databaseUrls(postgres, name);
  const admin = await connectAs(urls.admin);
  t.teardown(() => admin.end());
  return { name, urls, admin };
}

/** Migrations of every kind. */
export const plans: readonly MigrationPlan[] = [
  {
    name: 'tables',
    statements: [
      'create table things (id int primary key, name text)',
      "insert into things select n, 'thing ' || n from generate_series(1, 1000) n",
      `create table papers (id int, year int) partition by range (id);
       create table papers_1 partition of papers for values from (0) to (100);
       create table papers_2 partition of papers for values from (100) to (200)`,
    ],
    isTransactional: true,
  },
  {
    name: 'indexes',
    statements: [
      'create unique index concurrently things_name on things (name)',
      'create index concurrently things_length on things (length(name))',
      'create index concurrently if not exists papers_year on papers (year) where year > 0',
    ],
    isTransactional: false,
  },
  {
    name: 'columns',
    statements: ['alter table things add column size int', 'update things set size = id'],
    isTransactional: true,
  },
];

/** Runs plans as the owner, and returns the names of those that it ran. */
export function run(
  ownerUrl: string,
  those: readonly MigrationPlan[] = plans,
  patienceMs = 60_000,
) {
  return withOwnerSession(ownerUrl, (client) =>
    runMigrations(client, those, { roles: defaultRoles, patienceMs }),
  );
}

/** Describes tables, columns, rows and indexes after the plans have run. */
export const described = `
  select (select json_agg(name order by id) from migrations) as ran,
    (select sum(size)::int from things) as sizes,
    (select json_agg(json_build_array(c.relname, i.indisvalid) order by c.relname)
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = 'things'::regclass) as indexes,
    (select json_agg(json_build_array(c.relname, i.indisvalid, h.inhparent::regclass)
       order by c.relname)
     from pg_index i join pg_class c on c.oid = i.indexrelid
     left join pg_inherits h on h.inhrelid = i.indexrelid
     where c.relname like 'papers%') as partitioned`;
export const complete = {
  ran: ['tables', 'indexes', 'columns'],
  sizes: 500_500,
  indexes: [
    ['things_length', true],
    ['things_name', true],
    ['things_pkey', true],
  ],
  partitioned: [
    ['papers_1_year', true, 'papers_year'],
    ['papers_2_year', true, 'papers_year'],
    ['papers_year', true, null],
  ],
};
