import { randomUUID } from 'node:crypto';
import test from 'ava';
import { migrationNames } from '../../app/db/migration-names.ts';
import {
  asAdmin,
  createDatabase,
  databaseUrls,
  dropDatabase,
} from '../../app/dev/postgres/database.ts';
import { runCli } from '../support/processes/run-cli.ts';
import { testStack } from '../support/vault/stack.ts';

test('a login as the owner that Postgres refuses is one line, and the exit code 78', async (t) => {
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
    t.deepEqual([code, stdout], [78, ''], stderr);
    t.regex(stderr, /^The configuration is not usable:\n {2}DATABASE_OWNER_URL [^\n]*\n$/);
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

test('a login that may not create tables is one line, and the exit code 78', async (t) => {
  const { postgres, templateDatabase } = testStack();
  const { code, stderr } = await runCli(['migrate'], {
    DATABASE_OWNER_URL: databaseUrls(postgres, templateDatabase).app,
  });
  t.is(code, 78);
  t.regex(stderr, /\n {2}DATABASE_OWNER_URL names a role that may not create tables: [^\n]*\n$/);
});
