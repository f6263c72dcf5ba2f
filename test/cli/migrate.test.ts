import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createDatabase, databaseUrls, dropDatabase } from '../../app/dev/postgres/database.ts';
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
