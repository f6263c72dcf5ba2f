import test from 'ava';
import { decodeProtectedHeader } from 'jose';
import { until } from '../../app/dev/processes/until.ts';
import { servesTokens } from '../../app/tokens/own-keys.ts';
import { createAccount, openSession, type TestAccount } from '../support/accounts/test-account.ts';
import { refresh, tryToken } from '../support/accounts/sessions.ts';
import { assertError } from '../support/http/error-body.ts';
import { getJson } from '../support/http/send.ts';
import { startKeysVault, type KeysVault } from './keys-vault.ts';

let keys: KeysVault;
let account: TestAccount;

test.before(async () => {
  keys = await startKeysVault();
  account = await createAccount(keys.vault);
});
test.after.always(() => keys.stop());

const kidOf = (token: string) => decodeProtectedHeader(token).kid;

async function keySet({ vault }: KeysVault): Promise<string[]> {
  const { body } = await getJson(`${vault.baseUrl}/.well-known/jwks.json`);
  return (body as { keys: { readonly kid: string }[] }).keys.map(({ kid }) => kid);
}

test.serial('tokens of a retired key stay valid to expiry; new ones use the new key', async (t) => {
  const first = await keys.activeKey('token');
  const before = await openSession(keys.vault, account);
  const { keyId } = await keys.create('token');
  t.true((await keySet(keys)).includes(keyId));
  t.is(kidOf((await openSession(keys.vault, account)).accessToken), first.keyId);

  await keys.activate(keyId);
  t.is((await tryToken(keys.vault, before.accessToken)).status, 200);
  t.deepEqual((await keySet(keys)).sort(), [first.keyId, keyId].sort());
  const after = (await refresh(keys.vault, before.refreshToken)).body as {
    readonly accessToken: string;
  };
  for (const token of [after.accessToken, (await openSession(keys.vault, account)).accessToken]) {
    t.is(kidOf(token), keyId);
    t.is((await tryToken(keys.vault, token)).status, 200);
  }

  // Pretends that the key was retired before any of its tokens could still be valid.
  await keys.sql(
    "update signing_keys set retired_at = now() - interval '941 seconds' where key_id = $1",
    [first.keyId],
  );
  await until(async () => !(await keySet(keys)).includes(first.keyId), {
    what: 'the key to leave the key set',
    timeoutMs: 60_000,
  });
  assertError(t, await tryToken(keys.vault, before.accessToken), {
    status: 401,
    code: 'invalid_token',
  });
  t.is((await tryToken(keys.vault, after.accessToken)).status, 200);
});

test.serial('a token key retired before its activation leaves the key set at once', async (t) => {
  const { keyId } = await keys.create('token');
  t.true((await keySet(keys)).includes(keyId));
  await keys.send('POST', `/${keyId}/retire`);
  t.false((await keySet(keys)).includes(keyId));
});

test('a token key stays published until the last token it signed has expired', (t) => {
  const activatedAt = new Date('2030-01-01T00:00:00Z');
  const retiredAt = new Date('2030-02-01T00:00:00Z');
  const after = (seconds: number) => new Date(retiredAt.getTime() + seconds * 1000);
  const key = { purpose: 'token', state: 'RETIRED', activatedAt, retiredAt } as const;
  // 15 minutes of lifetime, 30 seconds between clocks, and 10 until every process knows of the
  // retirement.
  t.true(servesTokens(key, after(0)));
  t.true(servesTokens(key, after(939)));
  t.false(servesTokens(key, after(940)));
  t.true(servesTokens({ ...key, retiredAt: null }, after(1e6)));
  t.true(servesTokens({ ...key, activatedAt: null, retiredAt: null }, after(0)));
  t.false(servesTokens({ ...key, activatedAt: null }, after(0)));
  t.false(servesTokens({ ...key, purpose: 'audit' }, after(0)));
  t.false(servesTokens({ ...key, state: 'COMPROMISED' }, after(0)));
});
