import { randomBytes } from 'node:crypto';
import test from 'ava';
import { fingerprint } from '../../app/accounts/fingerprint.ts';
import { until } from '../../app/dev/processes/until.ts';
import { mailsTo, validationMails } from '../support/accounts/mails.ts';
import {
  createAccount,
  inventAccount,
  logIn,
  validate,
  type TestAccount,
} from '../support/accounts/test-account.ts';
import { send } from '../support/http/send.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault({
    HTTP_TRUSTED_PROXIES: '127.0.0.1/32',
    LIMITS_REGISTER_EMAIL: '3/1h',
    LIMITS_REGISTER_EMAIL_CLIENT: '2/1h',
  });
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

/** Returns a random client address of a documentation network (RFC 3849). */
function inventClientAddress(): string {
  return `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`;
}

/** Registers with the account's e-mail address and verifier from a client address. */
function registerFrom(
  { baseUrl }: TestVault,
  clientAddress: string,
  { email, saltHex: salt, verifierHex: verifier }: TestAccount,
) {
  return send('POST', `${baseUrl}/v1/auth/register`, {
    json: { email, salt, verifier },
    headers: { 'x-forwarded-for': clientAddress },
  });
}

/** Waits until everything that registrations promised is done, and returns the e-mails. */
async function settledMails(at: TestVault, email: string) {
  const waiting = `select 1 from outbox where kind in ('registration', 'email')
    and coalesce(payload::json ->> 'email', payload::json ->> 'to') = $1`;
  await until(async () => (await createSql(at)(waiting, [email])).length === 0, {
    what: 'every e-mail to be sent',
    timeoutMs: 60_000,
  });
  return mailsTo(at, email);
}

const keptOf = (email: string) =>
  sql(`select 1 from registrations join accounts on accounts.id = account_id where email = $1`, [
    email,
  ]);

test('beyond its limit an e-mail address gets no e-mail, and nobody sees it', async (t) => {
  const known = await createAccount(vault);
  for (const [email, uses] of [
    [known.email, 2],
    [inventAccount().email, 3],
  ] as const) {
    const answers = [];
    for (let time = 0; time < uses + 4; time += 1) {
      const spelled = time % 2 === 0 ? email : ` ${email.toUpperCase()}`;
      const account = inventAccount(spelled);
      answers.push(await registerFrom(vault, inventClientAddress(), account));
    }
    t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    t.is(new Set(answers.map(({ text }) => text)).size, 1);
    t.is(new Set(answers.map(({ headers }) => [...headers.keys()].sort().join())).size, 1);
    t.is((await settledMails(vault, email)).length, 3);
  }
});

test('a registration whose e-mail is left out keeps nothing', async (t) => {
  const email = inventAccount().email;
  const tries = Array.from({ length: 6 }, () => inventAccount(email));
  for (const one of tries) await registerFrom(vault, inventClientAddress(), one);
  t.is((await settledMails(vault, email)).length, 3);
  const kept = await keptOf(email);
  t.is(kept.length, 3);
  const entries = await sql(
    `select 1 from audit_entries join accounts on accounts.id = user_id
     where email = $1 and action = 'account.registered'`,
    [email],
  );
  t.is(entries.length, 3);
});

test('a stranger who registers an address again and again leaves its owner a mail', async (t) => {
  const owner = inventAccount();
  const stranger = inventClientAddress();
  for (let time = 0; time < 10; time += 1) {
    const nearby = stranger.replace(/1$/, String(time + 1));
    t.is((await registerFrom(vault, nearby, inventAccount(owner.email))).status, 200);
  }
  await registerFrom(vault, inventClientAddress(), owner);
  const mails = await settledMails(vault, owner.email);
  t.is(mails.length, 3);
  const shown = fingerprint(owner.saltHex, owner.verifierHex);
  const own = mails.find((mail) => mail.fingerprint === shown);
  await validate(vault, own?.token ?? '');
  t.truthy(await logIn(vault, owner));
});

test('an e-mail address keeps ten registrations, and none pushes out another', async (t) => {
  const unlimited = await startReadyVault();
  t.teardown(() => unlimited.stop());
  const owner = inventAccount();
  const register = (account: TestAccount) =>
    registerFrom(unlimited, inventClientAddress(), account);
  await register(owner);
  const [first] = await validationMails(unlimited, owner.email, 1);
  for (let time = 0; time < 15; time += 1) await register(inventAccount(owner.email));
  t.is((await settledMails(unlimited, owner.email)).length, 10);

  const count = 'select count(*)::int as count from registrations';
  t.deepEqual(await createSql(unlimited)(count), [{ count: 10 }]);
  const [oldest] = await createSql(unlimited)('select id from registrations order by id limit 1');
  await createSql(unlimited)(
    `update registrations set expires_at = now() - interval '1 second' where id <> $1`,
    [oldest?.['id']],
  );
  await register(inventAccount(owner.email));
  t.is((await settledMails(unlimited, owner.email)).length, 11);
  t.deepEqual(await createSql(unlimited)(count), [{ count: 2 }], 'expired ones are removed');
  await validate(unlimited, first?.token ?? '');
  t.truthy(await logIn(unlimited, owner));
});
