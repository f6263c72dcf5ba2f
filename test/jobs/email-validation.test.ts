import { randomUUID } from 'node:crypto';
import test from 'ava';
import { mailsTo, validationMails } from '../support/accounts/mails.ts';
import {
  createAccount,
  openSession,
  register,
  inventAccount,
  validate,
} from '../support/accounts/test-account.ts';
import { assertError } from '../support/http/error-body.ts';
import { startOwnRedis } from '../support/network/own-redis.ts';
import { createSql } from '../support/vault/sql.ts';
import { entriesOf } from '../support/vault/maintenance-vault.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { createPending, createSubmitter } from './jobs.ts';

let vault: TestVault;

test.before(async () => {
  vault = await startReadyVault();
});
test.after.always(() => vault.stop());

test('a registration gets a new token, and the former one is void', async (t) => {
  const operator = await createSubmitter(vault);
  const pending = await createPending(vault);
  const jobId = await operator.submit('EMAIL_VALIDATION', { email: pending.email });
  const job = await operator.untilOver(jobId);
  t.like(job, { status: 'COMPLETED', result: { processed: true }, error: null, retryCount: 0 });
  const [, renewed] = await validationMails(vault, pending.email, 2);
  t.not(renewed?.token, pending.token);
  t.is(renewed?.fingerprint, pending.fingerprint);

  const sql = createSql(vault);
  const status = async () => {
    const [row] = await sql('select status from accounts where email = $1', [pending.email]);
    return row?.['status'];
  };
  await validate(vault, pending.token);
  t.is(await status(), 'PENDING_VALIDATION');
  await validate(vault, renewed?.token ?? '');
  t.is(await status(), 'ACTIVE');
});

test('the newest registration gets the token', async (t) => {
  const operator = await createSubmitter(vault);
  const pending = await createPending(vault);
  const newer = inventAccount(pending.email);
  await register(vault, newer);
  const [, second] = await validationMails(vault, pending.email, 2);
  await operator.untilOver(await operator.submit('EMAIL_VALIDATION', { email: pending.email }));
  const mails = await validationMails(vault, pending.email, 3);
  t.is(mails[2]?.fingerprint, second?.fingerprint);
});

test('unknown, active and pending e-mail addresses have the same result', async (t) => {
  const operator = await createSubmitter(vault);
  const pending = await createPending(vault);
  const active = await createAccount(vault);
  const unknown = `${randomUUID()}@example.org`;
  const emails = [pending.email, active.email, unknown];
  const ids = await Promise.all(
    emails.map((email) => operator.submit('EMAIL_VALIDATION', { email })),
  );
  const jobs = await Promise.all(ids.map((id) => operator.untilOver(id)));
  const same = jobs.map(({ status, result, error }) => JSON.stringify({ status, result, error }));
  t.is(new Set(same).size, 1);
  await validationMails(vault, pending.email, 2);
  t.is((await mailsTo(vault, active.email)).length, 1, 'only its first one');
  t.is((await mailsTo(vault, unknown)).length, 0);
});

test('once the job is done, its row holds no e-mail address', async (t) => {
  const operator = await createSubmitter(vault);
  const pending = await createPending(vault);
  const jobId = await operator.submit('EMAIL_VALIDATION', { email: pending.email });
  await operator.untilOver(jobId);
  const rows = await createSql(vault)('select jobs::text as row, payload from jobs where id = $1', [
    jobId,
  ]);
  t.is(rows[0]?.['payload'], null);
  t.false(String(rows[0]?.['row']).includes(pending.email));
});

test('the submission and the new token are recorded', async (t) => {
  const operator = await createSubmitter(vault);
  const pending = await createPending(vault);
  const jobId = await operator.submit('EMAIL_VALIDATION', { email: pending.email });
  await operator.untilOver(jobId);
  const sql = createSql(vault);
  const [submitted] = await entriesOf(sql, { resource: jobId });
  t.like(submitted, {
    owner: operator.caller.userId,
    action: 'job.submitted',
    data: { type: 'EMAIL_VALIDATION' },
  });
  const [account] = await sql('select id from accounts where email = $1', [pending.email]);
  const entries = await entriesOf(sql, { resource: String(account?.['id']) });
  t.like(entries.at(-1), {
    owner: account?.['id'],
    action: 'account.token_renewed',
    actor: { type: 'user', id: operator.caller.userId },
  });
});

test('users may name their own e-mail address only', async (t) => {
  const account = await createAccount(vault);
  const pending = await createPending(vault);
  const { accessToken } = await openSession(vault, account);
  const { sub } = JSON.parse(
    Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString(),
  ) as { sub: string };
  const user = await createSubmitter(vault, { userId: sub, roles: ['user'] });
  const own = await user.submit('EMAIL_VALIDATION', { email: ` ${account.email.toUpperCase()}` });
  t.is((await user.untilOver(own)).status, 'COMPLETED');
  for (const email of [pending.email, `${randomUUID()}@example.org`]) {
    const json = { type: 'EMAIL_VALIDATION', payload: { email } };
    const refused = await user.send('POST', '/v1/jobs', { json });
    assertError(t, refused, { status: 403, code: 'access_denied' });
  }
});

test('an operator of another tenant sends nothing', async (t) => {
  const operator = await createSubmitter(vault, { tenantId: 'elsewhere' });
  const pending = await createPending(vault);
  const jobId = await operator.submit('EMAIL_VALIDATION', { email: pending.email });
  t.is((await operator.untilOver(jobId)).status, 'COMPLETED');
  const platform = await createSubmitter(vault, {
    tenantId: 'elsewhere',
    roles: ['user', 'platform_operator'],
  });
  await platform.untilOver(await platform.submit('EMAIL_VALIDATION', { email: pending.email }));
  t.is((await validationMails(vault, pending.email, 2)).length, 2);
});

test('the limits of registration hold, and leave the result as it is', async (t) => {
  // Other vaults count requests of this client address in the Redis that they share.
  const { url } = await startOwnRedis(t);
  const limited = await startReadyVault({
    REDIS_URL: url,
    LIMITS_REGISTER_EMAIL: '2/1h',
    LIMITS_REGISTER_EMAIL_CLIENT: '2/1h',
    LIMITS_REGISTER_ADDRESS: '4/1h',
  });
  t.teardown(() => limited.stop());
  const operator = await createSubmitter(limited);
  const pending = await createPending(limited);
  const again = () => operator.submit('EMAIL_VALIDATION', { email: pending.email });
  for (const count of [2, 2, 2]) {
    const job = await operator.untilOver(await again());
    t.like(job, { status: 'COMPLETED', result: { processed: true } });
    t.is((await validationMails(limited, pending.email, count)).length, count);
  }
  const json = { type: 'EMAIL_VALIDATION', payload: { email: pending.email } };
  const refused = await operator.send('POST', '/v1/jobs', { json });
  assertError(t, refused, { status: 429, code: 'rate_limited' });
});
