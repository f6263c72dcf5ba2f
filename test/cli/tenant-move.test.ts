import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { fates } from '../../app/lifecycle/owned-rows.ts';
import { recordTallies } from '../../app/audit/tallies/recorder.ts';
import { createAccount, openSession, type TestAccount } from '../support/accounts/test-account.ts';
import { openTrail, eventOf } from '../support/audit/entries.ts';
import type { Sql } from '../support/vault/sql.ts';
import { accountRow, claimsOf, entriesOf, startCliVault, type CliVault } from './cli-vault.ts';

const test = anyTest as TestFn<CliVault>;

test.before(async (t) => {
  t.context = await startCliVault();
});
test.after.always((t) => t.context.vault.stop());

async function assertRefused(t: ExecutionContext<CliVault>, account: TestAccount, why: RegExp) {
  const before = await accountRow(t.context, account);
  const { code, stdout, stderr } = await t.context.cli(
    'grant',
    account,
    ...'--tenant elsewhere --role auditor'.split(' '),
  );
  t.is(code, 1);
  t.is(stdout, '');
  t.regex(stderr, why);
  t.deepEqual(await accountRow(t.context, account), before, 'nothing was changed');
}

test('an account that owns nothing can move to another tenant and log in there', async (t) => {
  const { vault, cli } = t.context;
  const account = await createAccount(vault);
  const moved = await cli('grant', account, '--tenant', 'elsewhere');
  t.is(moved.code, 0, moved.stderr);
  t.regex(moved.stdout, /^granted tenant: elsewhere\n/);
  t.like((await entriesOf(t.context, account))[0], {
    tenant: 'elsewhere',
    data: { tenant: 'elsewhere', previousTenant: 'default' },
  });
  const { accessToken } = await openSession(vault, account);
  t.is(claimsOf(accessToken).tenant_id, 'elsewhere');
});

test('events tallied before a move are recorded after it, without gaps in seq', async (t) => {
  const { vault, sql, cli } = t.context;
  const account = await createAccount(vault);
  const { id: userId } = await accountRow(t.context, account);
  const { db, trail, readRoom, close } = await openTrail(vault);
  t.teardown(close);
  const resource = { type: 'account', id: userId };
  const before = { userId, tenantId: 'default' };
  const anonymous = { type: 'anonymous', id: null } as const;
  const failed = { action: 'auth.login_failed', actor: anonymous, resource, data: {} } as const;
  await vault.services.tallies.add({ ...failed, owner: before });
  t.is((await cli('grant', account, '--tenant', 'elsewhere')).code, 0);
  await recordTallies(db, trail, () => new Date(Date.now() + 120_000), readRoom);
  const [entry] = await sql(
    `select tenant_id from audit_entries where user_id = $1 and action = 'auth.login_failed'`,
    [userId],
  );
  t.deepEqual(entry, { tenant_id: 'elsewhere' });

  // A request that began before the move may append its entry only now.
  const late = eventOf(before, '', { resource: { type: 'session', id: 'x' } });
  await db.asService((tx) => trail.append(tx, late));
  t.is((await cli('grant', account, '--tenant', 'default')).code, 0);
  const gaps = await sql(
    `select resource_type from audit_entries where user_id = $1 group by resource_type, resource_id
     having count(*) <> max(seq)`,
    [userId],
  );
  t.deepEqual(gaps, []);
});

test('entries of the previous tenant can be appended after a move without gaps', async (t) => {
  const { vault, sql, cli } = t.context;
  const account = await createAccount(vault);
  const { id: userId } = await accountRow(t.context, account);
  const { db, trail, close } = await openTrail(vault);
  t.teardown(close);
  const append = () =>
    db.asService((tx) =>
      trail.append(
        tx,
        eventOf({ userId, tenantId: 'default' }, '', {
          resource: { type: 'audit_entry', id: userId },
        }),
      ),
    );
  await append();
  t.is((await cli('grant', account, '--tenant', 'elsewhere')).code, 0);
  await t.notThrowsAsync(append());
  t.is((await cli('grant', account, '--tenant', 'default')).code, 0);
  await t.notThrowsAsync(append());
  const entries = await sql(
    `select seq from audit_entries where user_id = $1 and resource_type = 'audit_entry'
     order by seq`,
    [userId],
  );
  t.deepEqual(
    entries.map(({ seq }) => Number(seq)),
    [1, 2, 3],
  );
});

test('an account that owns anything cannot move to another tenant', async (t) => {
  const { vault, sql, cli } = t.context;
  const account = await createAccount(vault);
  const { id } = await accountRow(t.context, account);
  const tables = Object.entries(fates)
    .filter(([, { move }]) => move === 'refused')
    .map(([name]) => name)
    .toSorted();
  t.true(tables.length >= 5);
  for (const name of tables) await insertOwned(sql, name, id);
  const names = tables.join(', ');
  await assertRefused(t, account, new RegExp(`would no longer see .*: ${names}\n$`));
  for (const name of tables) {
    await sql(`delete from ${name} where user_id = $1`, [id]);
  }
  const moved = await cli('grant', account, '--tenant', 'elsewhere');
  t.is(moved.code, 0, moved.stderr);
});

/** Inserts a row of the user into any table with owners; other columns hold any valid value. */
async function insertOwned(sql: Sql, table: string, userId: string): Promise<void> {
  const columns = await sql(
    `select column_name as name, data_type as type from information_schema.columns
     where table_name = $1 and is_nullable = 'NO' and column_default is null`,
    [table],
  );
  const values: Record<string, string> = {
    uuid: 'gen_random_uuid()',
    text: "''",
    bigint: '1',
    integer: '1',
    'timestamp with time zone': 'now()',
    boolean: 'false',
    ARRAY: "'{}'",
    date: 'now()',
  };
  const own: Record<string, string> = { user_id: `'${userId}'`, tenant_id: "'default'" };
  const names = columns.map(({ name }) => String(name));
  const row = columns.map(({ name, type }) => own[String(name)] ?? values[String(type)] ?? 'null');
  const checks = await sql(
    `select conname as name from pg_constraint where contype = 'c' and conrelid = $1::regclass`,
    [table],
  );
  for (const { name } of checks) await sql(`alter table ${table} drop constraint ${String(name)}`);
  // No trigger fires in this transaction. The check of the isolation finds all of them in place.
  await sql(
    `begin; set local session_replication_role = replica;
     insert into ${table} (${names.join(', ')}) values (${row.join(', ')}); commit`,
  );
}

test('an account that is, or just was, logged in cannot move to another tenant', async (t) => {
  const { vault, sql, cli } = t.context;
  const account = await createAccount(vault);
  await openSession(vault, account);
  const advice = /revoke its --sessions, wait 10 s and try again\n$/;
  await assertRefused(t, account, advice);
  t.is((await cli('revoke', account, '--sessions')).code, 0);
  const { id } = await accountRow(t.context, account);
  const revokedAgo = (seconds: number) =>
    sql(
      `update login_sessions set revoked_at = now() - $1 * interval '1 second' where user_id = $2`,
      [seconds, id],
    );
  // A revocation in the future is recent, however long the command takes to start.
  await revokedAgo(-600);
  await assertRefused(t, account, advice);
  await revokedAgo(11);
  t.is((await cli('grant', account, '--tenant', 'elsewhere')).code, 0);
});
