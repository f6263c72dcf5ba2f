import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { realmVariables } from '../../../app/dev/identity-provider/realm.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { alice, connectTo, soon } from '../../identity-provider/provider-contract.ts';
import { proofHeader, reauth } from '../../support/accounts/reauth-account.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send } from '../../support/http/send.ts';
import { issuersFile } from '../../support/issuers/issuers-file.ts';
import {
  asMfaUser,
  assertDisabled,
  assertEnabled,
  codeOf,
  createMfaUser,
  untilEarlyInStep,
  wrongCode,
  type MfaUser,
} from '../../support/mfa/mfa-user.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { openLogin, type KeycloakLogin } from './browser-login.ts';

const issuer = z
  .url({ error: 'KEYCLOAK_ISSUER is not set: eval "$(test/labs/keycloak-lab up)"' })
  .parse(process.env['KEYCLOAK_ISSUER']);
const { origin } = new URL(issuer);
const openid = `${issuer}/protocol/openid-connect`;

// An earlier run on the same server may have been interrupted.
test.before(async () => {
  const provider = connectTo(origin);
  const { totps = [], recoveryCodes = [] } = (await provider.findFactors(alice.id, soon())) ?? {};
  for (const { id } of [...recoveryCodes, ...totps]) {
    await provider.removeFactor(alice.id, id, soon());
  }
});

async function startLabVault(t: ExecutionContext): Promise<TestVault> {
  const realm = {
    issuer,
    jwksUri: `${openid}/certs`,
    audience: 'probatio',
    grants: { roles: ['user'], scopes: ['mfa:manage'], tenants: ['default'] },
  };
  const vault = await startReadyVault({
    ...realmVariables(origin),
    AUTH_ISSUERS_FILE: await issuersFile(t, [realm]),
  });
  t.teardown(() => vault.stop());
  return vault;
}

async function postForm(url: string, form: Record<string, string>): Promise<string> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token: token } = z
    .object({ access_token: z.string() })
    .parse(await response.json());
  return token;
}

/** Returns Alice with a token of Keycloak, which she got before MFA was enabled. */
async function logInAlice(vault: TestVault): Promise<MfaUser> {
  const { username, password } = alice;
  const form = { grant_type: 'password', client_id: 'probatio-web', username, password };
  const token = await postForm(`${openid}/token`, form);
  await asMfaUser(vault, { userId: '', token }).status();
  const [row] = await createSql(vault)('select user_id from identities where subject = $1', [
    alice.id,
  ]);
  return asMfaUser(vault, { userId: String(row?.['user_id']), token });
}

async function passPassword(t: ExecutionContext, expected: string): Promise<KeycloakLogin> {
  const login = await openLogin(issuer);
  t.is(login.asks(), 'password');
  t.is(await login.password(alice.username, alice.password), expected as never);
  return login;
}

/** Logs in with a recovery code and asserts what becomes of it. */
async function tryRecoveryCode(t: ExecutionContext, code: string, expected: string) {
  const login = await passPassword(t, 'code');
  t.is(await login.chooseRecoveryCode(), 'recovery code');
  t.is(await login.recoveryCode(code), expected as never, code);
}

function codesOf(body: unknown): readonly string[] {
  return (body as { readonly recoveryCodes: readonly string[] }).recoveryCodes;
}

test.serial('Keycloak asks for what the vault set up, until it is disabled', async (t) => {
  const vault = await startLabVault(t);
  const user = await logInAlice(vault);
  await passPassword(t, 'logged in');

  const begun = await user.init();
  const { secret = '', qrCodeUri } = begun.body as Record<string, string>;
  t.regex(qrCodeUri ?? '', /Probatio:alice\?/);
  await passPassword(t, 'logged in');
  await untilEarlyInStep();
  const enabled = await user.verify(codeOf(secret, -1));
  t.is(enabled.status, 200, enabled.text);
  const codes = codesOf(enabled.body);

  const login = await passPassword(t, 'code');
  t.is(await login.code(wrongCode(secret)), 'code', 'a wrong code');
  t.is(await login.code(codeOf(secret)), 'logged in');
  const again = await passPassword(t, 'code');
  t.is(await again.code(codeOf(secret)), 'code', 'a used code');

  const [first = '', second = '', third = ''] = codes;
  await tryRecoveryCode(t, second, 'recovery code');
  await tryRecoveryCode(t, first, 'logged in');
  await assertEnabled(t, user, 14);
  await tryRecoveryCode(t, first, 'recovery code');
  await tryRecoveryCode(t, second, 'logged in');
  await assertEnabled(t, user, 13);

  const { password } = alice;
  assertError(t, await reauth(vault, user.token, { password: 'wrong' }), {
    status: 401,
    code: 'invalid_credentials',
  });
  const { status, body } = await reauth(vault, user.token, { password });
  t.is(status, 200);
  const { reauthToken } = body as { readonly reauthToken: string };
  const headers = { 'X-Reauth-Token': reauthToken };
  const path = `${vault.baseUrl}/v1/user/mfa`;
  const { token } = user;
  const replaced = await send('POST', `${path}/recovery/regenerate`, { token, headers });
  const [newer = ''] = codesOf(replaced.body);
  await assertEnabled(t, user);
  await tryRecoveryCode(t, third, 'recovery code');
  await tryRecoveryCode(t, newer, 'logged in');

  const disabled = await send('POST', `${path}/disable`, { token, headers });
  t.deepEqual(disabled.body, { enabled: false });
  await assertDisabled(t, user);
  await passPassword(t, 'logged in');
});

test.serial('a check of a password leaves no session in Keycloak', async (t) => {
  const vault = await startLabVault(t);
  const user = await logInAlice(vault);
  const admin = await postForm(`${openid}/token`, {
    grant_type: 'client_credentials',
    client_id: 'probatio-mfa',
    client_secret: 'probatio-mfa-secret',
  });
  const clientsOf = async () => {
    const url = `${origin}/admin/realms/probatio/users/${alice.id}/sessions`;
    const response = await fetch(url, { headers: { Authorization: `Bearer ${admin}` } });
    return JSON.stringify(await response.json());
  };
  t.is((await reauth(vault, user.token, { password: alice.password })).status, 200);
  const sessions = await clientsOf();
  t.true(sessions.includes('probatio-web'));
  t.false(sessions.includes('probatio-password'));
});

test.serial('an account of the vault has a user in Keycloak, until it is closed', async (t) => {
  const vault = await startLabVault(t);
  const provider = connectTo(origin);
  const user = await createMfaUser(vault);
  await assertDisabled(t, user);
  t.is(await provider.findSubject(user.userId, soon()), undefined);
  await user.enable();
  await assertEnabled(t, user);
  const subject = (await provider.findSubject(user.userId, soon())) ?? '';
  const factors = await provider.findFactors(subject, soon());
  t.is(factors?.totps.length, 1);
  t.is(factors?.recoveryCodes[0]?.remaining, 15);
  t.is((await user.regenerate()).status, 200);
  const newer = await provider.findFactors(subject, soon());
  t.deepEqual(newer?.totps, factors?.totps);
  t.not(newer?.recoveryCodes[0]?.id, factors?.recoveryCodes[0]?.id);
  t.is((await user.disable()).status, 200);
  const none = { totps: [], recoveryCodes: [] };
  t.deepEqual(await provider.findFactors(subject, soon()), none);
  await user.enable();

  const closed = await send('DELETE', `${vault.baseUrl}/v1/auth/account`, {
    token: user.token,
    headers: await proofHeader(vault, user),
  });
  t.is(closed.status, 204);
  await until(async () => (await provider.findName(subject, soon())) === undefined, {
    what: 'the user to be removed',
    timeoutMs: 60_000,
    intervalMs: 250,
  });
});
