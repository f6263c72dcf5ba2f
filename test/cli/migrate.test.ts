import { randomUUID } from 'node:crypto';
import test from 'ava';
import { migrationNames } from '../../app/db/migrating/migration-names.ts';
import {
  asAdmin,
  createDatabase,
  databaseUrls,
  dropDatabase,
} from '../../app/dev/postgres/database.ts';
import { runCli } from '../support/processes/run-cli.ts';
import { testStack } from '../support/vault/stack.ts';

test('a login as the owner that Postgres refuses is one line, and the exit code 1', async (t) => {
  const { postgres } = testStack();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name);
  t.teardown(() => dropDatabase(postgres, name));
  const { owner } = databaseUrls(postgres, name);
  const change = (part: Partial<URL>) => Object.assign(new URL(owner), part).href;
  for (const [url, remedy] of [
    [change({ password: 'jam' }), /names a role that Postgres refuses: correct its name or pass/],
    [change({ username: 'nobody_at_all' }), /names a role that Postgres refuses: correct its name/],
    [change({ pathname: '/absent' }), /names a database that does not exist: correct its name, or/],
  ] as const) {
    const { code, stdout, stderr } = await runCli(['migrate'], { DATABASE_OWNER_URL: url });
    t.deepEqual([code, stdout], [1, ''], stderr);
    t.regex(stderr, /^DATABASE_OWNER_URL [^\n]*\n$/);
    t.regex(stderr, remedy);
    t.notRegex(stderr, /jam|nobody_at_all|absent/);
  }
});

test('--check and --wait tell with the login of the app alone what is missing', async (t) => {
  const { postgres } = testStack();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name);
  t.teardown(() => dropDatabase(postgres, name));
  const { app, owner } = databaseUrls(postgres, name);
  const ask = (...args: readonly string[]) => runCli(['migrate', ...args], { DATABASE_URL: app });
  const missing = `missing ${migrationNames.join(', ')}\n`;
  for (const args of [['--check'], ['--wait', '1']]) {
    t.deepEqual(await ask(...args), { code: 3, stdout: missing, stderr: '' });
  }
  const waiting = ask('--wait', '120');
  const { code, stderr } = await runCli(['migrate'], { DATABASE_OWNER_URL: owner });
  t.is(code, 0, stderr);
  const nothing = { code: 0, stdout: 'nothing is missing\n', stderr: '' };
  t.deepEqual(await waiting, nothing);
  t.deepEqual(await ask('--check'), nothing);
});

test('a list of migrations with more than this version has is fine', async (t) => {
  const { postgres, templateDatabase } = testStack();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name, templateDatabase);
  t.teardown(() => dropDatabase(postgres, name));
  await asAdmin(
    postgres,
    (client) => client.query("insert into migrations (name) values ('MigrationOfTomorrow')"),
    name,
  );
  const { code } = await runCli(['migrate', '--check'], {
    DATABASE_URL: databaseUrls(postgres, name).app,
  });
  t.is(code, 0);
});

test('a database that is away is one line, and the exit code 1', async (t) => {
  const url = `postgresql://owner:secret@127.0.0.1:1/vault`;
  const outcomes = await Promise.all([
    runCli(['migrate'], { DATABASE_OWNER_URL: url }),
    runCli(['migrate', '--check'], { DATABASE_URL: url }),
  ]);
  for (const { code, stdout, stderr } of outcomes) {
    t.deepEqual([code, stdout], [1, ''], stderr);
    t.regex(stderr, /^[^\n]*ECONNREFUSED[^\n]*\n$/);
  }
});

test('a full or read-only database is one line, exit code 1, and nothing half done', async (t) => {
  const { postgres } = testStack();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name);
  t.teardown(() => dropDatabase(postgres, name));
  const env = { DATABASE_OWNER_URL: databaseUrls(postgres, name).owner };
  const sql = (text: string) => asAdmin(postgres, (client) => client.query(text), name);

  // The disk is full in the middle of the first migration.
  await sql(
    `create schema lab;
     create function lab.no_room() returns event_trigger language plpgsql as $$
       begin raise exception 'could not extend file' using errcode = '53100'; end $$;
     create event trigger full_disk on ddl_command_start when tag in ('CREATE POLICY')
       execute function lab.no_room()`,
  );
  const full = await runCli(['migrate'], env);
  t.deepEqual([full.code, full.stdout], [1, '']);
  t.regex(
    full.stderr,
    /^Migration0001Baseline failed[^\n]*: the database has no room left: [^\n]*\n$/,
  );
  const { rows } = await sql(
    `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
  );
  t.deepEqual(rows, [{ relname: 'migrations' }]);

  await sql(`drop event trigger full_disk; alter database ${name}
    set default_transaction_read_only = on`);
  const readOnly = await runCli(['migrate'], env);
  t.deepEqual([readOnly.code, readOnly.stdout], [1, '']);
  t.regex(readOnly.stderr, /^the database is read-only: name the primary [^\n]*\n$/);

  await sql(`begin read write; alter database ${name} reset default_transaction_read_only; commit`);
  t.is((await runCli(['migrate'], env)).code, 0);
});

test('a login that may not create tables is one line, and the exit code 1', async (t) => {
  const { postgres, templateDatabase } = testStack();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name, templateDatabase);
  t.teardown(() => dropDatabase(postgres, name));
  const { app } = databaseUrls(postgres, name);
  const { code, stderr } = await runCli(['migrate'], { DATABASE_OWNER_URL: app });
  t.is(code, 1);
  t.regex(stderr, /^DATABASE_OWNER_URL names a role that may not create tables: [^\n]*\n$/);
});
