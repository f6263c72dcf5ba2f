import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { findRemovable } from '../../../app/lifecycle/purge/expired-accounts.ts';
import { openDatabase } from '../../../app/db/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import type { Sql } from '../../support/vault/sql.ts';
import { validationMails } from '../../support/accounts/mails.ts';
import {
  countsOf,
  expire,
  findUserId,
  insertExpired,
  registerOnly,
  startPurgeVault,
  untilSealed,
  type PurgeVault,
} from '../../support/accounts/purge-vault.ts';
import { logIn, register, validate } from '../../support/accounts/test-account.ts';

const test = anyTest as TestFn<PurgeVault>;

test.before(async (t) => {
  t.context = await startPurgeVault();
});
test.beforeEach((t) => t.context.reset());
test.after.always((t) => t.context.stop());

const nothing = { purgedAccounts: 0, removedAuditTraces: 0, removedEmails: 0 };

/** Opens a connection in whose transaction the tests lock rows. */
async function openHolder(t: ExecutionContext<PurgeVault>) {
  const holder = await connectAs(t.context.vault.databases.admin);
  t.teardown(() => holder.end());
  await holder.query('begin');
  return holder;
}

/** Resolves once this many statements of the app wait for a lock. */
const untilBlocked = (sql: Sql, count: number) =>
  until(
    async () => {
      const waiting = await sql(
        `select 1 from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return waiting.length >= count;
    },
    { what: `${count} statements to wait`, timeoutMs: 60_000 },
  );

test.serial('concurrent purges share the work, and each account is removed once', async (t) => {
  const { sql, purge } = t.context;
  await insertExpired(sql, 2_000);
  const answers = await Promise.all([purge(), purge(), purge()]);
  for (const { status, text } of answers) t.is(status, 200, text);
  const sum = (name: keyof typeof nothing) =>
    answers.reduce((total, answer) => total + countsOf(answer)[name], 0);
  t.is(sum('purgedAccounts'), 2_000);
  t.is(sum('removedAuditTraces'), 2_000);
  t.is(sum('removedEmails'), 2_000);
  t.deepEqual(await sql('select 1 from accounts'), []);
  const [entries] = await sql(
    `select sum((canonical::json->'data'->>'purgedAccounts')::int)::int as accounts
     from audit_entries where action = 'account.purged'`,
  );
  t.is(entries?.['accounts'], 2_000);
});

test.serial('a validation during a purge either wins or loses completely', async (t) => {
  const { vault, sql, purge } = t.context;
  const accounts = await Promise.all(Array.from({ length: 12 }, () => registerOnly(t.context)));
  await sql(
    `update registrations
       set expires_at = now() + (20 + random() * 200) * interval '1 millisecond'`,
  );
  const validateAll = async () => {
    const statuses: number[] = [];
    for (const { token } of accounts) statuses.push((await validate(vault, token)).status);
    return statuses;
  };
  const validating = validateAll();
  const purged = until(
    async () => {
      const { status, text } = await purge();
      if (status !== 200) throw new Error(text);
      const left = await sql("select 1 from accounts where status = 'PENDING_VALIDATION'");
      return left.length === 0;
    },
    { what: 'every account to be validated or purged', timeoutMs: 60_000 },
  );
  const statuses = await validating;
  await purged;
  t.deepEqual(new Set(statuses), new Set([200]));
  for (const { userId } of accounts) {
    const [row] = await sql(
      `select (select status from accounts where id = $1) as status,
         (select count(*)::int from credentials where account_id = $1) as credentials,
         (select count(*)::int from registrations where account_id = $1) as registrations,
         (select count(*)::int from audit_entries
          where user_id = $1 and canonical is null) as erased`,
      [userId],
    );
    const isActive = row?.['status'] === 'ACTIVE';
    t.deepEqual(row, {
      status: isActive ? 'ACTIVE' : null,
      credentials: isActive ? 1 : 0,
      registrations: 0,
      erased: isActive ? 0 : 1,
    });
  }
});

test.serial('a locked account is skipped, and the others are removed', async (t) => {
  const { sql, purge } = t.context;
  await insertExpired(sql, 3);
  const holder = await openHolder(t);
  await holder.query('select from accounts order by id limit 1 for update');
  t.like(countsOf(await purge()), { purgedAccounts: 2 });
  await holder.query('rollback');
  t.like(countsOf(await purge()), { purgedAccounts: 1 });
});

test.serial(
  'a validation during the purge of its account is too late; registering anew works',
  async (t) => {
    const { vault, sql, purge } = t.context;
    const { account, userId, token } = await registerOnly(t.context);
    await expire(t.context, userId);
    const holder = await openHolder(t);
    await holder.query('select from audit_log where user_id = $1 for update', [userId]);
    const purged = purge();
    await untilBlocked(sql, 1);
    // A process whose clock is behind would still take the registrations for valid.
    await sql("update registrations set expires_at = now() + interval '1 hour'");
    const validated = validate(vault, token);
    await untilBlocked(sql, 2);
    await register(vault, account);
    await untilBlocked(sql, 3);
    await holder.query('rollback');

    t.like(countsOf(await purged), { purgedAccounts: 1, removedAuditTraces: 1 });
    t.is((await validated).status, 200);
    const [, mail] = await validationMails(vault, account.email, 2);
    t.not(await findUserId(sql, account.email), userId);
    await t.throwsAsync(logIn(vault, account));
    await validate(vault, mail?.token ?? '');
    t.truthy(await logIn(vault, account));
  },
);

test.serial(
  'an account that was registered again before the purge locked it is kept',
  async (t) => {
    const { vault, sql } = t.context;
    const { account, userId } = await registerOnly(t.context);
    await expire(t.context, userId);
    const db = await openDatabase({ ...vault.config.database, poolSize: 1 });
    t.teardown(() => db.close());
    const look = () => db.asService((tx) => findRemovable(tx, [userId], new Date()));
    t.deepEqual(await look(), [userId]);
    await register(vault, account);
    await validationMails(vault, account.email, 2);
    await untilSealed(sql);
    t.deepEqual(await look(), []);
  },
);

test.serial('a batch that fails changes nothing, and the next run completes it', async (t) => {
  const { sql, purge, status } = t.context;
  await insertExpired(sql, 500);
  await sql(
    `create function refuse() returns trigger language plpgsql as
     $$ begin raise 'on purpose'; end $$`,
  );
  const [victim] = await sql('select id from accounts order by created_at offset 250 limit 1');
  await sql(
    `create trigger refuse before delete on accounts for each row
     when (old.id = '${String(victim?.['id'])}') execute function refuse()`,
  );
  t.is((await purge()).status, 500);
  const count = async (from: string) => (await sql(`select 1 from ${from}`)).length;
  t.is(await count('accounts'), 300);
  t.is(await count('registrations'), 300);
  t.is(await count('outbox where user_id is not null'), 300);
  t.is(await count('audit_entries where canonical is null'), 200);
  t.like((await status()).body, { lastRun: { purgedAccounts: 200, completedAt: null } });

  await sql('drop trigger refuse on accounts');
  t.deepEqual(countsOf(await purge()), {
    purgedAccounts: 300,
    removedAuditTraces: 300,
    removedEmails: 300,
  });
});
