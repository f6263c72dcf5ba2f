import test from 'ava';
import { openDatabase } from '../../../app/db/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';

const owner = { userId: '00000000-0000-7000-8000-000000000001', tenantId: 'default' };

for (const login of ['app', 'service'] as const) {
  test(`transactions of the login ${login} that have a connection or wait are known`, async (t) => {
    const { app: url, service: serviceUrl } = sharedVault().databases;
    const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
    t.teardown(() => db.close());
    const use = () => ({
      used: db.connections[login].used,
      waiting: db.connections[login].waiting,
    });
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const begin = () => (login === 'app' ? db.asUser(owner, () => over) : db.asService(() => over));
    const all = [begin(), begin(), begin()];
    await until(() => use().used === 1, { what: 'a transaction to begin', timeoutMs: 60_000 });
    t.deepEqual(use(), { used: 1, waiting: 2 });
    end();
    await Promise.all(all);
    t.deepEqual(use(), { used: 0, waiting: 0 });
  });

  test(`after a failure no transaction of the login ${login} counts any more`, async (t) => {
    const url = 'postgresql://nobody@127.0.0.1:1/nothing';
    const db = await openDatabase({ url, serviceUrl: url, poolSize: 1 });
    t.teardown(() => db.close());
    const run = async () => undefined;
    await t.throwsAsync(login === 'app' ? db.asUser(owner, run) : db.asService(run));
    const { used, waiting } = db.connections[login];
    t.deepEqual({ used, waiting }, { used: 0, waiting: 0 });
  });
}

test('each statement is reported with its login, its text and its error', async (t) => {
  const { app: url, service: serviceUrl } = sharedVault().databases;
  const told: string[] = [];
  const db = await openDatabase({
    url,
    serviceUrl,
    poolSize: 1,
    onAnswered: (login, { text, seconds, error }) => {
      t.true(seconds >= 0);
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      told.push([login, text.split(/[ ;]/)[0], code].join(' ').trim());
    },
  });
  t.teardown(() => db.close());
  await db.asService(async (tx) => tx.selectFrom('accounts').select('id').limit(1).execute());
  t.deepEqual(told, ['service begin', 'service select', 'service select']);
  told.length = 0;
  await t.throwsAsync(
    db.asUser(owner, async (tx) =>
      tx
        .selectFrom('jobs')
        .select('nothing' as 'id')
        .execute(),
    ),
  );
  t.deepEqual(told, ['app begin', 'app select 42703', 'app rollback']);
});
