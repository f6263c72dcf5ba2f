import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { beginLogin, createAccount, logIn } from '../../support/accounts/test-account.ts';
import { startOwnSigner } from '../../support/vault/own-signer.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';
import { startTcpProxy } from '../../support/network/tcp-proxy.ts';
import { assertError } from '../../support/http/error-body.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { getJson, postJson } from '../../support/http/send.ts';
import { testStack } from '../../support/vault/stack.ts';

test('without the signer a login fails with 503, and works once it is back', async (t) => {
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  const vault = await startReadyVault({ SIGNER_SOCKET_PATH: signer.socketPath });
  t.teardown(() => vault.stop());
  const account = await createAccount(vault);
  const token = await logIn(vault, account);

  await signer.kill();
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  const answer = await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1 });
  assertError(t, answer, { status: 503, code: 'signer_unavailable' });
  t.false(answer.text.includes('M2'), 'no server proof without a token');
  t.is(
    (await getJson(`${vault.baseUrl}/v1/documents`, token)).status,
    200,
    'other requests still work',
  );

  await signer.restart();
  const again = await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1 });
  t.is(again.status, 200, 'the same proof serves again');
  const third = await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1 });
  assertError(t, third, { status: 401, code: 'srp_session_expired' });
});

test('without Redis both login steps fail with 503, and work once it is back', async (t) => {
  const redis = await startTcpProxy(testStack().redisUrl);
  t.teardown(() => redis.close());
  const vault = await startReadyVault({ REDIS_URL: redis.url });
  t.teardown(() => vault.stop());
  const account = await createAccount(vault);
  const { sessionId, A, M1 } = await beginLogin(vault, account);

  await redis.close();
  const away = { status: 503, code: 'cache_unavailable' };
  const challenge = { email: account.email, A };
  assertError(t, await postJson(`${vault.baseUrl}/v1/auth/login/challenge`, challenge), away);
  for (const body of [
    { sessionId, A, M1 },
    { A, M1 },
  ]) {
    assertError(t, await postJson(`${vault.baseUrl}/v1/auth/login/verify`, body), away);
  }

  await redis.open();
  await until(() => logIn(vault, account).catch(() => undefined), {
    what: 'a login after the return of Redis',
    timeoutMs: 60_000,
  });
  t.pass();
});

test('without the database requests fail with 503, and work once it is back', async (t) => {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const vault = await startReadyVault(database.settings);
  t.teardown(() => vault.stop());
  const account = await createAccount(vault);
  const token = await logIn(vault, account);
  const { sessionId, A, M1 } = await beginLogin(vault, account);

  await database.proxy.close();
  const away = { status: 503, code: 'database_unavailable' };
  assertError(t, await getJson(`${vault.baseUrl}/v1/documents`, token), away);
  const challenge = { email: account.email, A: '2222' };
  assertError(t, await postJson(`${vault.baseUrl}/v1/auth/login/challenge`, challenge), away);
  const verify = () => postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1 });
  assertError(t, await verify(), away);

  await database.proxy.open();
  await until(async () => (await getJson(`${vault.baseUrl}/v1/documents`, token)).status === 200, {
    what: 'the database to be used again',
    timeoutMs: 60_000,
  });
  t.is((await verify()).status, 200, 'the same proof serves again');
});

test('a token whose key cannot be looked up gets 503 and never passes', async (t) => {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const vault = await startReadyVault(database.settings);
  t.teardown(() => vault.stop());
  const token = withKey(await logIn(vault, await createAccount(vault)), '0'.repeat(32));

  await database.proxy.close();
  const answer = await until(
    async () => {
      const asked = await getJson(`${vault.baseUrl}/v1/documents`, token);
      return asked.status === 503 && asked;
    },
    { what: 'the key set to be read again', timeoutMs: 60_000 },
  );
  assertError(t, answer, { status: 503, code: 'jwks_unavailable' });
});

/** Replaces the header of a token with one that names another key. */
function withKey(token: string, kid: string): string {
  const header = JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid });
  return token.replace(/^[^.]*/, Buffer.from(header).toString('base64url'));
}
