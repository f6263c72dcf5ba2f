import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send } from '../../support/http/send.ts';
import { createApi } from '../../support/documents/uploads.ts';
import {
  countsOf,
  dump,
  expire,
  insertExpired,
  registerOnly,
  startPurgeVault,
  untilSealed,
  type PurgeVault,
} from '../../support/accounts/purge-vault.ts';
import { createAccount, logIn, register, validate } from '../../support/accounts/test-account.ts';
import { makePending, pretendSealed, putInDlq } from '../../support/audit/unsealed.ts';

const test = anyTest as TestFn<PurgeVault>;

test.before(async (t) => {
  t.context = await startPurgeVault();
});
test.beforeEach((t) => t.context.reset());
test.after.always((t) => t.context.stop());

const nothing = { purgedAccounts: 0, removedAuditTraces: 0, removedEmails: 0 };

test.serial(
  'all data of an account that was not validated in time is removed, and no other',
  async (t) => {
    const { vault, sql, purge } = t.context;
    const active = await createAccount(vault);
    const waiting = await registerOnly(t.context);
    const again = await registerOnly(t.context);
    await expire(t.context, again.userId);
    await register(vault, again.account);
    const gone = await registerOnly(t.context);
    await register(vault, gone.account);
    await until(async () => (await sql('select 1 from outbox')).length === 0, {
      what: 'every mail to be sent',
      timeoutMs: 60_000,
    });
    await untilSealed(sql);
    await expire(t.context, gone.userId);
    await sql("insert into known_addresses values ($1, 'a', now())", [gone.userId]);
    await sql(
      `insert into audit_tallies
     values (now() + interval '1 hour', $1, 'a', '', 'account', $2, '', 'default', 1)`,
      [gone.userId, gone.userId],
    );

    const answer = await purge();
    t.is(answer.status, 200, answer.text);
    t.deepEqual(countsOf(answer), { ...nothing, purgedAccounts: 1, removedAuditTraces: 2 });
    const { dryRun, startedAt, completedAt, ...rest } = answer.body as Record<string, unknown>;
    t.deepEqual(Object.keys(rest).sort(), Object.keys(nothing).sort());
    t.is(dryRun, false);
    for (const time of [startedAt, completedAt]) {
      t.regex(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }

    for (const [table, text] of await dump(sql)) {
      t.false(text.includes(gone.account.email), table);
      t.is(text.includes(gone.userId), table === 'audit_log' || table === 'audit_trails', table);
    }
    t.truthy(await logIn(vault, active));
    await validate(vault, waiting.token);
    t.truthy(await logIn(vault, waiting.account));
    t.deepEqual(countsOf(await purge()), nothing);
    await validate(vault, gone.token);
    await t.throwsAsync(logIn(vault, gone.account));
  },
);

test.serial('unsent mails of the account are removed, and no other message', async (t) => {
  const { sql, purge } = t.context;
  await insertExpired(sql, 3);
  await sql(
    `insert into outbox (id, kind, payload, user_id, available_at)
     select gen_random_uuid(), kind, '{}', id, now() + interval '1 day' from accounts,
       unnest(array['email', 'object.delete']) kind
     union all
     select gen_random_uuid(), 'email', '{}', id, now() + interval '1 day'
     from unnest(array[gen_random_uuid(), null]) id`,
  );
  t.like(countsOf(await purge()), { purgedAccounts: 3, removedEmails: 6 });
  const left = await sql('select kind from outbox order by kind');
  t.deepEqual(
    left.map(({ kind }) => kind),
    ['email', 'email', 'object.delete', 'object.delete', 'object.delete'],
  );
});

test.serial('a dry run counts alike, and changes nothing but the record of runs', async (t) => {
  const { sql, purge, status } = t.context;
  await insertExpired(sql, 450);
  const { userId } = await registerOnly(t.context);
  await expire(t.context, userId);
  const [row] = await sql('select id from accounts limit 1');
  const dead = await sql('select id from audit_log where user_id = $1', [row?.['id']]);
  await putInDlq(
    sql,
    dead.map(({ id }) => id),
  );
  const before = await dump(sql);
  const preview = await purge('?dryRun=true');
  t.is(preview.status, 200, preview.text);
  t.like(preview.body, { dryRun: true, purgedAccounts: 450 });
  const after = await dump(sql);
  // Marks of the log are written on their own schedule, and the uses of internal keys are counted.
  const expected = new Set(['maintenance_runs', 'audit_marks', 'audit_tallies']);
  const others = [...after].filter(([table]) => !expected.has(table));
  for (const [table, text] of others) t.is(text, before.get(table) ?? '', table);
  t.like((await status()).body, { expiredAccounts: 451, lastRun: { dryRun: true } });
  t.deepEqual(countsOf(await purge('?dryRun=false')), countsOf(preview));
});

test.serial('an account with an unsealed entry waits for a later run', async (t) => {
  const { sql, purge } = t.context;
  await insertExpired(sql, 3);
  const [pending, dead] = await sql(
    "select id from audit_entries where action = 'account.registered' order by id",
  );
  await makePending(sql, [pending?.['id']]);
  await putInDlq(sql, [dead?.['id']]);
  t.deepEqual(countsOf(await purge()), {
    purgedAccounts: 1,
    removedAuditTraces: 1,
    removedEmails: 1,
  });
  t.deepEqual(countsOf(await purge()), nothing);
  t.is((await sql('select 1 from registrations')).length, 2);
  await sql('delete from audit_dead_letters where entry_id = $1', [dead?.['id']]);
  await makePending(sql, [dead?.['id']]);
  await pretendSealed(sql, [pending?.['id'], dead?.['id']]);
  t.like(countsOf(await purge()), { purgedAccounts: 2, removedAuditTraces: 2 });
});

test.serial('each batch leaves one entry with counts and without names', async (t) => {
  const { vault, sql, purge } = t.context;
  await insertExpired(sql, 450);
  const emails = (await sql('select email from accounts')).map(({ email }) => String(email));
  await purge();
  const entries = await sql(
    `select id, user_id, canonical, seq::int from audit_entries
     where action = 'account.purged' order by seq`,
  );
  t.deepEqual(
    entries.map(({ seq }) => seq),
    [1, 2, 3],
  );
  const [run] = await sql('select id from maintenance_runs');
  const parsed = entries.map(({ canonical }) => JSON.parse(String(canonical)) as object);
  t.like(parsed[2], {
    actor: { type: 'system', id: 'test-admin' },
    resource: { type: 'purge', id: run?.['id'], owner: '00000000-0000-0000-0000-000000000000' },
    data: { purgedAccounts: 50, removedAuditTraces: 50, removedEmails: 50 },
  });
  for (const { canonical } of entries) {
    t.false(emails.some((email) => String(canonical).includes(email)));
  }
  const path = `/v1/audit/proof/${String(entries[0]?.['id'])}/verify`;
  const auditor = await createApi(vault, { roles: ['platform_auditor'] });
  const verdict = await until(
    async () => {
      const { status, body } = await auditor.send('GET', path);
      return status === 200 && body;
    },
    { what: 'the signature', timeoutMs: 60_000 },
  );
  t.is(verdict['valid'], true);
  for (const roles of [['user'], ['auditor']]) {
    t.is((await (await createApi(vault, { roles })).send('GET', path)).status, 404);
  }
});

test.serial('the status tells what a purge would remove, and what the last one did', async (t) => {
  const { sql, purge, status } = t.context;
  t.deepEqual((await status()).body, {
    pendingAccounts: 0,
    expiredAccounts: 0,
    oldestExpiredAt: null,
    lastRun: null,
  });
  const { account } = await registerOnly(t.context);
  await insertExpired(sql, 2);
  await sql(
    `update registrations set expires_at = '2020-01-02T03:04:05.678Z'
     where token_hash = (select max(token_hash) from registrations where salt = 'aa')`,
  );
  t.deepEqual((await status()).body, {
    pendingAccounts: 3,
    expiredAccounts: 2,
    oldestExpiredAt: '2020-01-02T03:04:05.678Z',
    lastRun: null,
  });
  const report = (await purge()).body as Record<string, unknown>;
  const { lastRun, ...counts } = (await status()).body as Record<string, unknown>;
  t.deepEqual(counts, { pendingAccounts: 1, expiredAccounts: 0, oldestExpiredAt: null });
  const { id, requestedBy, ...record } = lastRun as Record<string, unknown>;
  t.deepEqual(record, report);
  t.is(requestedBy, 'test-admin');
  t.regex(String(id), /^[0-9a-f-]{36}$/);
  t.is((await sql('select email from accounts'))[0]?.['email'], account.email);
});

test.serial('only an internal key with the admin right opens the routes', async (t) => {
  const { vault, keys } = t.context;
  const token = await logIn(vault, await createAccount(vault));
  const admin = await createApi(vault, { roles: ['user', 'probatio_admin'] });
  for (const [method, path] of [
    ['POST', '/v1/auth/purge/expired'],
    ['GET', '/v1/auth/purge/status'],
  ] as const) {
    const url = vault.baseUrl + path;
    const ask = (key?: string, bearer?: string) =>
      send(method, url, {
        ...(bearer === undefined ? {} : { token: bearer }),
        ...(key === undefined ? {} : { headers: { 'X-Internal-Api-Key': key } }),
      });
    const refused = { status: 401, code: 'invalid_api_key' };
    assertError(t, await ask(), refused);
    assertError(t, await ask(''), refused);
    assertError(t, await ask(randomUUID()), refused);
    assertError(t, await ask(undefined, token), refused);
    assertError(t, await ask(undefined, admin.token), refused);
    assertError(t, await ask(token), refused);
    assertError(t, await ask(keys.plain), { status: 403, code: 'access_denied' });
    t.is((await ask(keys.admin)).status, 200);
    t.is((await ask(keys.admin, 'jam')).status, 200);
    assertError(t, await send(method, url.replace('/v1', '/api/v1')), {
      status: 404,
      code: 'not_found',
    });
  }
  for (const secret of [keys.admin, keys.plain]) {
    t.false(vault.logLines.some((line) => line.includes(secret)));
  }
});

test.serial('dryRun is true or false, and no other query is accepted', async (t) => {
  const { sql, purge } = t.context;
  await insertExpired(sql, 1);
  for (const query of [
    '?dryRun=',
    '?dryRun=1',
    '?dryRun=TRUE',
    '?dryRun',
    '?jam=1',
    '?dryRun=true&dryRun=true',
  ]) {
    assertError(t, await purge(query), { status: 400, code: 'validation_failed' }, query);
  }
  t.is((await sql('select 1 from accounts')).length, 1);
});
