import { randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { assertError } from '../support/http/error-body.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { postJson } from '../support/http/send.ts';
import { validationMails } from '../support/accounts/mails.ts';
import { inventAccount, logIn, register, validate } from '../support/accounts/test-account.ts';

let vault: TestVault;

test.before(async () => {
  vault = await startReadyVault();
});
test.after.always(() => vault.stop());

async function pendingAccount() {
  const account = inventAccount();
  await register(vault, account);
  const [mail] = await validationMails(vault, account.email, 1);
  return { account, token: mail?.token ?? '' };
}

test('every token gets the same response', async (t) => {
  const { token } = await pendingAccount();
  const strings = [
    token,
    token,
    randomUUID(),
    '',
    'jam',
    "' or 1=1 --",
    '\u{1f36f}',
    // As long as the body of a public route may be.
    'x'.repeat(2 ** 14 - '{"token":""}'.length),
  ];
  const answers = [];
  for (const one of strings) answers.push(await validate(vault, one));
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.is(new Set(answers.map(({ text }) => text)).size, 1);
  t.regex(answers[0]?.text ?? '', /^{"status":"OK","message":"[^"]+"}$/);
});

test('a token that is not a string is refused', async (t) => {
  for (const body of [{}, { token: 1 }, { token: null }, { token: [''] }, { token: '', more: 1 }]) {
    const answer = await postJson(`${vault.baseUrl}/v1/auth/validate-email`, body);
    assertError(t, answer, { status: 400, code: 'validation_failed' });
  }
});

test('a token is a version 4 UUID and valid once', async (t) => {
  const { account, token } = await pendingAccount();
  t.regex(token, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  await t.throwsAsync(logIn(vault, account));
  await validate(vault, token);
  t.truthy(await logIn(vault, account));
  await validate(vault, token);
  t.truthy(await logIn(vault, account));
});

test('a token is valid for an hour and no longer', async (t) => {
  const { account, token } = await pendingAccount();
  const service = await connectAs(vault.databases.service);
  t.teardown(() => service.end());
  const { rows } = await service.query<{ minutes: number }>(
    `select extract(epoch from r.expires_at - r.created_at)::float / 60 as minutes
     from registrations r join accounts a on a.id = r.account_id where email = $1`,
    [account.email],
  );
  t.true(Math.abs((rows[0]?.minutes ?? 0) - 60) < 1);
  await service.query(
    `update registrations set expires_at = now() - interval '1 second'
     where account_id = (select id from accounts where email = $1)`,
    [account.email],
  );
  t.is((await validate(vault, token)).status, 200);
  await t.throwsAsync(logIn(vault, account), undefined, 'the account is not active');
});

test.serial('a token is in no row of the database, and encrypted in its unsent mail', async (t) => {
  const admin = await connectAs(vault.databases.admin);
  t.teardown(() => admin.end());
  const { rows: tables } = await admin.query<{ name: string }>(
    `select quote_ident(relname) as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  const dump = async (): Promise<Map<string, string>> => {
    const texts = new Map<string, string>();
    for (const { name } of tables) {
      const { rows } = await admin.query<{ text: string }>(
        `select coalesce(string_agg(row_to_json(x)::text, ''), '') as text from ${name} x`,
      );
      texts.set(name, rows[0]?.text ?? '');
    }
    return texts;
  };

  // The trigger holds back every mail so that this one stays unsent; hence the test is serial.
  await admin.query('begin');
  await admin.query(
    `create or replace function hold() returns trigger language plpgsql as
       $$ begin new.available_at = now() + interval '1 day'; return new; end $$`,
  );
  await admin.query(
    `create trigger hold before insert on outbox for each row
       when (new.kind = 'email') execute function hold()`,
  );
  await admin.query('commit');
  const account = inventAccount();
  await register(vault, account);
  const waiting = await until(
    async () => {
      const texts = await dump();
      return texts.get('outbox')?.includes('validate') === true && texts;
    },
    { what: 'the mail in the outbox', timeoutMs: 60_000 },
  );

  await admin.query('drop trigger hold on outbox');
  await admin.query('update outbox set available_at = now()');
  const [mail] = await validationMails(vault, account.email, 1);
  const token = mail?.token ?? '';
  t.is(token.length, 36);
  for (const [name, text] of waiting) t.false(text.includes(token), name);
  const sent = await until(
    async () => {
      const texts = await dump();
      return texts.get('outbox') === '' && texts;
    },
    { what: 'the row to be erased', timeoutMs: 60_000 },
  );
  for (const [name, text] of sent) t.false(text.includes(token), name);
  await validate(vault, token);
  t.truthy(await logIn(vault, account));
});

test('no e-mail address is in the audit log', async (t) => {
  const { account, token } = await pendingAccount();
  await validate(vault, token);
  await logIn(vault, account);
  const service = await connectAs(vault.databases.service);
  t.teardown(() => service.end());
  const { rows } = await service.query<{ canonical: string }>(
    'select canonical from audit_entries',
  );
  t.true(rows.length >= 3);
  for (const { canonical } of rows) t.false(canonical.includes(account.email));
});
