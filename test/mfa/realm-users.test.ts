import { randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { reauth } from '../support/accounts/reauth-account.ts';
import { assertError } from '../support/http/error-body.ts';
import { send } from '../support/http/send.ts';
import { assertDisabled, assertEnabled, codeOf, mfaActions } from '../support/mfa/mfa-user.ts';
import { breakAll } from '../support/mfa/faulty-provider.ts';
import { timed } from '../support/mfa/faulty-vault.ts';
import { outsider, realmUser, startRealmVault } from '../support/mfa/realm-vault.ts';
import { createSql } from '../support/vault/sql.ts';

const denied = { status: 403, code: 'access_denied' };
const wrong = { status: 401, code: 'invalid_credentials' };

test('a user of the provider manages MFA and reauthenticates there', async (t) => {
  const { vault, user: find } = await startRealmVault(t);
  const user = await find();
  await assertDisabled(t, user);
  const begun = await user.init();
  const { secret, qrCodeUri } = begun.body as Record<string, string>;
  t.regex(qrCodeUri ?? '', /^otpauth:\/\/totp\/Probatio:carol\?/);
  t.is((await user.verify(codeOf(secret ?? ''))).status, 200);
  await assertEnabled(t, user);

  const { password } = realmUser;
  for (const other of ['x', `${password} `, password.toUpperCase()]) {
    assertError(t, await reauth(vault, user.token, { password: other }), wrong);
  }
  const { status, body } = await reauth(vault, user.token, { password });
  t.is(status, 200);
  const { reauthToken } = body as { readonly reauthToken: string };
  const disabled = await send('POST', `${vault.baseUrl}/v1/user/mfa/disable`, {
    token: user.token,
    headers: { 'X-Reauth-Token': reauthToken },
  });
  t.deepEqual(disabled.body, { enabled: false });
  await assertDisabled(t, user);
  const actions = ['mfa.started', 'mfa.enabled', 'mfa.disabled'];
  t.deepEqual(await mfaActions(vault, user.userId), actions);
  const [entry] = await createSql(vault)(
    "select canonical from audit_entries where user_id = $1 and action = 'auth.reauthenticated'",
    [user.userId],
  );
  t.regex(String(entry?.['canonical']), /"data":\{"method":"password"\}/);
});

test('a user of the provider cannot prove a login of the vault', async (t) => {
  const { vault, user: find } = await startRealmVault(t);
  const { token } = await find();
  const proof = { sessionId: randomUUID(), A: '22', M1: '0'.repeat(64) };
  assertError(t, await reauth(vault, token, proof), denied);
});

test('passwords of the provider are limited as login proofs are', async (t) => {
  const { vault, user: find } = await startRealmVault(t, { LIMITS_PROOF_ACCOUNT: '3/15m' });
  const { token } = await find();
  for (let n = 0; n < 3; n += 1) {
    assertError(t, await reauth(vault, token, { password: 'x' }), wrong);
  }
  const { password } = realmUser;
  const limited = { status: 429, code: 'rate_limited' };
  assertError(t, await reauth(vault, token, { password }), limited);
});

test('while the provider is away, no password is called wrong, and none is counted', async (t) => {
  const settings = { LIMITS_PROOF_ACCOUNT: '3/15m' };
  const { vault, provider, user: find } = await startRealmVault(t, settings);
  const { token } = await find();
  const { password } = realmUser;
  const ask = () => timed(reauth(vault, token, { password }));
  for (const fault of ['hang', 'cut', 500, 401] as const) {
    breakAll(provider, fault);
    const [answer, ms] = await ask();
    assertError(t, answer, { status: 503, code: 'identity_provider_unavailable' }, String(fault));
    t.true(ms < 20_000, `${fault}: ${ms} ms`);
  }
  breakAll(provider, undefined);
  const isDone = async () => (await ask())[0].status === 200;
  await until(isDone, { what: 'the password to be checked', timeoutMs: 30_000 });
});

test('the vault takes no passwords of the provider if it takes none at all', async (t) => {
  const { vault, user: find } = await startRealmVault(t, { AUTH_REAUTH_PASSWORD: 'refuse' });
  const { token } = await find();
  const answer = await reauth(vault, token, { password: realmUser.password });
  assertError(t, answer, { status: 403, code: 'reauth_password_refused' });
});

test('without a client that checks passwords, users of the provider have no way', async (t) => {
  const none = { MFA_KEYCLOAK_PASSWORD_CLIENT_ID: '', MFA_KEYCLOAK_PASSWORD_CLIENT_SECRET: '' };
  const { vault, user: find } = await startRealmVault(t, none);
  const user = await find();
  assertError(t, await reauth(vault, user.token, { password: realmUser.password }), denied);
  await user.enable();
});

test('users of a third issuer, and users who were removed, manage nothing', async (t) => {
  const { vault, user: find } = await startRealmVault(t);
  const other = await find({ isOther: true });
  const gone = await find({ subject: randomUUID() });
  for (const user of [other, gone]) {
    assertError(t, await user.init(), denied);
    assertError(t, await user.verify('123456'), denied);
    assertError(t, await user.disable(), denied);
    assertError(t, await user.regenerate(), denied);
  }
  assertError(t, await other.status(), denied);
  assertError(t, await gone.status(), denied);
  assertError(t, await reauth(vault, other.token, { password: realmUser.password }), denied);
});

test('users outside of the group manage nothing, and keep nobody from managing', async (t) => {
  const { vault, user: find } = await startRealmVault(t);
  const outside = await find({ subject: outsider.id });
  const user = await find();
  const { password } = outsider;
  for (let round = 0; round < 4; round += 1) {
    assertError(t, await outside.status(), denied);
    assertError(t, await outside.init(), denied);
    assertError(t, await outside.disable(), denied);
  }
  assertError(t, await reauth(vault, outside.token, { password }), wrong);
  await assertDisabled(t, user);
});

test('without an identity provider every route says so', async (t) => {
  const unset = Object.fromEntries(
    [
      'URL',
      'REALM',
      'GROUP',
      'CLIENT_ID',
      'CLIENT_SECRET',
      'PASSWORD_CLIENT_ID',
      'PASSWORD_CLIENT_SECRET',
    ].map((name) => [`MFA_KEYCLOAK_${name}`, '']),
  );
  const { user: find } = await startRealmVault(t, unset);
  const user = await find();
  const unavailable = { status: 503, code: 'identity_provider_unavailable' };
  for (const answer of [await user.status(), await user.init(), await user.verify('123456')]) {
    assertError(t, answer, unavailable);
  }
  assertError(t, await user.disable(), unavailable);
  assertError(t, await user.regenerate(), unavailable);
});
