import test from 'ava';
import { rfc5054Group3072 } from '../../client/srp/group.ts';
import { until } from '../../app/dev/processes/until.ts';
import { messageRow } from '../../app/outbox/outbox.ts';
import { assertError } from '../support/http/error-body.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { postJson } from '../support/http/send.ts';
import { createSql } from '../support/vault/sql.ts';
import { mailsTo, validationMails } from '../support/accounts/mails.ts';
import {
  createAccount,
  inventAccount,
  logIn,
  register,
  validate,
} from '../support/accounts/test-account.ts';

let vault: TestVault;

test.before(async () => {
  vault = await startReadyVault();
});
test.after.always(() => vault.stop());

const toRegister = (body: unknown) => postJson(`${vault.baseUrl}/v1/auth/register`, body);
const bodyFor = (changes: object = {}) => {
  const { email, saltHex: salt, verifierHex: verifier } = inventAccount();
  return { email, salt, verifier, ...changes };
};
const invalid = { status: 400, code: 'validation_failed' };

test('new, pending and existing e-mail addresses get the same response, to the byte', async (t) => {
  const active = await createAccount(vault);
  const pending = inventAccount();
  await register(vault, pending);
  const answers = await Promise.all(
    [active, pending, inventAccount()].map((one) => register(vault, one)),
  );
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.is(new Set(answers.map(({ text }) => text)).size, 1);
  t.is(new Set(answers.map(({ headers }) => [...headers.keys()].sort().join())).size, 1);
  t.regex(answers[0]?.text ?? '', /^{"status":"PENDING_VALIDATION","message":"[^"]+"}$/);
});

test('an existing owner is notified by mail, and their account does not change', async (t) => {
  const account = await createAccount(vault);
  const intruder = inventAccount(account.email);
  await register(vault, intruder);
  const mails = await until(
    async () => {
      const sent = await mailsTo(vault, account.email);
      return sent.length >= 2 && sent;
    },
    { what: 'the second mail', timeoutMs: 60_000 },
  );
  const told = mails.find(({ token }) => token === undefined);
  t.regex(told?.text ?? '', /already has an account/);
  t.truthy(await logIn(vault, account));
  await t.throwsAsync(logIn(vault, intruder), { message: /401/ });
});

test('each registration has its own token and the fingerprint of its own verifier', async (t) => {
  const email = inventAccount().email;
  const tries = [inventAccount(email), inventAccount(email), inventAccount(email)];
  for (const one of tries) await register(vault, one);
  const mails = await validationMails(vault, email, 3);
  t.is(new Set(mails.map(({ token }) => token)).size, 3);
  t.is(new Set(mails.map(({ fingerprint }) => fingerprint)).size, 3);
  t.is(mails.length, 3);
});

test('validating one registration activates its verifier and drops the others', async (t) => {
  const email = inventAccount().email;
  const [mine, slippedIn] = [inventAccount(email), inventAccount(email)];
  await register(vault, mine);
  const [first] = await validationMails(vault, email, 1);
  await register(vault, slippedIn);
  const second = (await validationMails(vault, email, 2)).find(
    ({ token }) => token !== first?.token,
  );

  await validate(vault, first?.token ?? '');
  await validate(vault, second?.token ?? '');
  t.truthy(await logIn(vault, mine));
  await t.throwsAsync(logIn(vault, slippedIn), { message: /401/ });
});

test('exactly one of two registrations validated concurrently becomes the account', async (t) => {
  const email = inventAccount().email;
  const tries = [inventAccount(email), inventAccount(email)];
  for (const one of tries) await register(vault, one);
  const mails = await validationMails(vault, email, 2);
  const answers = await Promise.all(mails.map(({ token }) => validate(vault, token ?? '')));
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
  const logins = await Promise.allSettled(tries.map((one) => logIn(vault, one)));
  t.is(logins.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('a registration that is delivered again after its validation sends no mail', async (t) => {
  const sql = createSql(vault);
  const account = inventAccount();
  await register(vault, account);
  const [mail] = await validationMails(vault, account.email, 1);
  const [registration] = await sql(
    'select r.id from registrations r join accounts a on a.id = r.account_id where email = $1',
    [account.email],
  );
  await validate(vault, mail?.token ?? '');
  const { email, saltHex: salt, verifierHex: verifier } = account;
  const id = String(registration?.['id']);
  const credential = vault.services.cipher.encrypt(messageRow(id), { salt, verifier });
  const promised = { email, credential, emailHash: '', requestId: '', isMailed: true };
  await vault.services.registration.enrol(promised, id);
  const toSend = `select 1 from outbox where payload::json ->> 'to' = $1`;
  await until(async () => (await sql(toSend, [email])).length === 0, {
    what: 'every mail to be sent',
    timeoutMs: 60_000,
  });
  t.deepEqual(
    (await mailsTo(vault, email)).map(({ token }) => token),
    [mail?.token],
  );
});

test('an e-mail address is the same in any case and with spaces around it', async (t) => {
  const account = inventAccount();
  const loud = { ...account, email: `  ${account.email.toUpperCase()}\t` };
  t.is((await register(vault, loud)).status, 200);
  const [mail] = await validationMails(vault, account.email, 1);
  await validate(vault, mail?.token ?? '');
  t.truthy(await logIn(vault, account));
});

const noEmails = [
  'jam',
  '@example.org',
  'a@',
  'a b@example.org',
  'a@example.org, b@example.org',
  'a@example.org\r\nBcc: b@example.org',
  '<a@example.org>',
  `${'a'.repeat(250)}@example.org`,
];
for (const email of noEmails) {
  test(`an e-mail address is refused: ${JSON.stringify(email).slice(0, 40)}`, async (t) => {
    assertError(t, await toRegister(bodyFor({ email })), invalid);
  });
}

const { N } = rfc5054Group3072;
const refused: Record<string, object> = {
  'a salt of 15 bytes': { salt: '0'.repeat(30) },
  'a salt of 65 bytes': { salt: '0'.repeat(130) },
  'a salt of an odd number of digits': { salt: '0'.repeat(33) },
  'a salt in base64': { salt: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==' },
  'the verifier 0': { verifier: '0' },
  'the verifier 1': { verifier: '1'.padStart(768, '0') },
  'the verifier N - 1': { verifier: (N - 1n).toString(16) },
  'the verifier N': { verifier: N.toString(16) },
  'a verifier of 769 digits': { verifier: '2'.padStart(769, '0') },
  'a verifier with a sign': { verifier: '-2' },
};
for (const [what, change] of Object.entries(refused)) {
  test(`a registration is refused for ${what}`, async (t) => {
    assertError(t, await toRegister(bodyFor(change)), invalid);
  });
}

const accepted: Record<string, object> = {
  'a salt of 16 bytes': { salt: 'ab'.repeat(16) },
  'a salt of 64 bytes': { salt: 'AB'.repeat(64) },
  'the verifier 2': { verifier: '2' },
  'the verifier N - 2 in upper case': { verifier: (N - 2n).toString(16).toUpperCase() },
};
for (const [what, change] of Object.entries(accepted)) {
  test(`a registration is accepted with ${what}`, async (t) => {
    t.is((await toRegister(bodyFor(change))).status, 200);
  });
}

const passwords: Record<string, object> = {
  password: { password: 'x' },
  'upper case': { PASSWORD: null },
  'mixed case': { PassWord: {} },
  passwd: { passwd: '' },
  pwd: { Pwd: 1 },
  'in an object': { extra: { password: 'x' } },
  'in an array': { extra: [[{ pwd: 'x' }]] },
  'within a field of another type': { email: { passwd: 'x' } },
};
for (const [what, change] of Object.entries(passwords)) {
  test(`a password field is refused wherever it is: ${what}`, async (t) => {
    const forbidden = { status: 400, code: 'password_forbidden' };
    assertError(t, await toRegister(bodyFor(change)), forbidden);
    assertError(t, await toRegister([change]), forbidden);
  });
}

test('a value that mentions a password is accepted', async (t) => {
  t.is((await toRegister(bodyFor({ email: `password.${inventAccount().email}` }))).status, 200);
});
