import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { connectOwner, migrate } from '../../app/db/migrating/migrate.ts';
import { createDatabase, databaseUrls, dropDatabase } from '../../app/dev/postgres/database.ts';
import { testStack } from '../support/vault/stack.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';

async function emptyDatabase(t: ExecutionContext) {
  const { postgres } = testStack();
  const name = `migrations_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name);
  t.teardown(() => dropDatabase(postgres, name));
  return databaseUrls(postgres, name);
}

test('the migrations create exactly the tables that the entities describe', async (t) => {
  const { owner } = await emptyDatabase(t);
  await migrate(owner);
  const orm = await connectOwner(owner);
  t.teardown(() => orm.close());
  t.is(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '');
});

test('row-level security is forced on every table but those that the owner writes', async (t) => {
  const { owner, admin } = await emptyDatabase(t);
  await migrate(owner);
  const client = await connectAs(admin);
  t.teardown(() => client.end());
  const { rows } = await client.query(
    `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and relname <> 'migrations' and not (relrowsecurity and relforcerowsecurity)
     order by relname`,
  );
  t.deepEqual(rows, [{ relname: 'audit_archive_erasures' }, { relname: 'audit_archives' }]);
});

test('the owner fails rather than overlook rows hidden by row-level security', async (t) => {
  const { owner } = await emptyDatabase(t);
  await migrate(owner);
  const orm = await connectOwner(owner);
  t.teardown(() => orm.close());
  await t.throwsAsync(orm.em.getConnection().execute('select count(*) from documents'), {
    message: /row-level security/,
  });
});

test('migrating again changes nothing', async (t) => {
  const { owner } = await emptyDatabase(t);
  t.true((await migrate(owner)).length > 0);
  t.deepEqual(await migrate(owner), []);
});

test('concurrent migrations run once, and the other processes wait for them', async (t) => {
  const { owner } = await emptyDatabase(t);
  const names = await Promise.all(Array.from({ length: 4 }, () => migrate(owner)));
  t.is(names.filter(({ length }) => length > 0).length, 1);
  t.deepEqual(await migrate(owner), []);
});

test('a migration that fails keeps those before it, and leaves nothing of its own', async (t) => {
  const { owner, admin } = await emptyDatabase(t);
  const client = await connectAs(admin);
  t.teardown(() => client.end());
  // The migration that creates this table fails.
  await client.query('create table upload_parts (x int)');
  await t.throwsAsync(migrate(owner));
  const { rows: done } = await client.query('select name from migrations');
  const { rows: tables } = await client.query(
    `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r'
       and relname not in ('migrations', 'upload_parts')`,
  );
  t.deepEqual([done, tables], [[], []]);
  await client.query('drop table upload_parts');
  t.true((await migrate(owner)).length > 0);
});
