import test, { type ExecutionContext } from 'ava';
import { trustKey, type TrustedKey } from '../support/accounts/trusted-key.ts';
import { assertError } from '../support/http/error-body.ts';
import { send, type JsonAnswer } from '../support/http/send.ts';
import {
  assertDisabled,
  assertEnabled,
  createMfaUser,
  mfaActions,
  type MfaUser,
} from '../support/mfa/mfa-user.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

let vault: TestVault;
let key: TrustedKey;

test.before(async () => {
  vault = await startReadyVault();
  key = await trustKey(vault);
});
test.after.always(() => vault?.stop());

const provenPaths = ['disable', 'recovery/regenerate'];
const paths = ['status', 'totp/init', 'totp/verify', ...provenPaths];

const invalidToken = { status: 401, code: 'invalid_token' };
const expiredToken = { status: 401, code: 'token_expired' };
const invalidReauth = { status: 401, code: 'reauth_invalid' };

function ask(path: string, bearer: string | undefined, reauth?: string): Promise<JsonAnswer> {
  return send(path === 'status' ? 'GET' : 'POST', `${vault.baseUrl}/v1/user/mfa/${path}`, {
    ...(bearer === undefined ? {} : { token: bearer }),
    ...(reauth === undefined ? {} : { headers: { 'X-Reauth-Token': reauth } }),
    ...(path === 'totp/verify' ? { json: { code: '123456' } } : {}),
  });
}

/** Returns the times of a token that expired a second ago. */
function over(lifetimeSeconds: number) {
  const exp = Math.floor(Date.now() / 1000) - 1;
  return { iat: exp - lifetimeSeconds, exp };
}

function signReauth({ userId }: Pick<MfaUser, 'userId'>, claims: object = {}): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + 300;
  return key.sign({ sub: userId, purpose: 'reauth', exp, ...claims }, { typ: 'reauth+jwt' });
}

/** Asserts that a user has MFA enabled, and that nothing was done since. */
async function assertUntouched(t: ExecutionContext, user: MfaUser): Promise<void> {
  await assertEnabled(t, user);
  t.deepEqual(await mfaActions(vault, user.userId), ['mfa.started', 'mfa.enabled']);
}

test('no route takes anything but a valid access token as the bearer', async (t) => {
  const user = await createMfaUser(vault);
  await user.enable();
  const { userId } = user;
  const reauth = await signReauth(user);
  // Beyond the tolerance for clocks that differ.
  const expired = await key.sign({ sub: userId, ...over(900), exp: over(0).exp - 120 });
  for (const path of paths) {
    assertError(t, await ask(path, undefined, reauth), invalidToken, `${path} without a token`);
    assertError(t, await ask(path, reauth, reauth), invalidToken, `${path} with reauth as bearer`);
    assertError(t, await ask(path, expired, reauth), expiredToken, `${path} with an expired token`);
  }
  await assertUntouched(t, user);
});

test('disable and regenerate take only a valid reauthentication token of the caller', async (t) => {
  const user = await createMfaUser(vault);
  const other = await createMfaUser(vault);
  await user.enable();
  const { token } = user;
  const valid = await signReauth(user);
  const tokens = {
    'an access token': token,
    "another user's": await signReauth(other),
    "another user's, expired": await signReauth(other, over(300)),
    'another purpose': await signReauth(user, { purpose: 'login' }),
    'another signature': `${valid.slice(0, -4)}AAAA`,
    'two tokens': `${valid}, ${valid}`,
  };
  const expired = await signReauth(user, over(300));
  for (const path of provenPaths) {
    assertError(t, await ask(path, token), { status: 401, code: 'reauth_required' }, path);
    for (const [name, proof] of Object.entries(tokens)) {
      assertError(t, await ask(path, token, proof), invalidReauth, `${path} with ${name}`);
    }
    const ended = { status: 401, code: 'reauth_expired' };
    assertError(t, await ask(path, token, expired), ended, path);
    // The other user has a valid access token and somebody else's proof.
    assertError(t, await ask(path, other.token, valid), invalidReauth, path);
  }
  await assertUntouched(t, user);
  t.is((await ask('disable', token, valid)).status, 200);
  await assertDisabled(t, user);
});
