import test from 'ava';
import { createAccount, openSession } from '../support/accounts/test-account.ts';
import { startOwnSigner } from '../support/vault/own-signer.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { assertError } from '../support/http/error-body.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { entriesOf, logOut, refresh, sessionIdOf, tryToken } from '../support/accounts/sessions.ts';

test('a refresh that fails without the signer does not use up the token', async (t) => {
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  const vault = await startReadyVault({ SIGNER_SOCKET_PATH: signer.socketPath });
  t.teardown(() => vault.stop());
  const account = await createAccount(vault);
  const [session, other, reused] = [
    await openSession(vault, account),
    await openSession(vault, account),
    await openSession(vault, account),
  ];
  const second = await refresh(vault, reused.refreshToken);
  await refresh(vault, (second.body as typeof reused).refreshToken);

  await signer.kill();
  for (let round = 0; round < 3; round += 1) {
    const answer = await refresh(vault, session.refreshToken);
    assertError(t, answer, { status: 503, code: 'signer_unavailable' });
  }
  t.is((await tryToken(vault, session.accessToken)).status, 200, 'access tokens still work');
  t.is((await logOut(vault, other.accessToken)).status, 204, 'sessions can still be ended');
  const refused = { status: 401, code: 'invalid_refresh_token' };
  assertError(t, await refresh(vault, reused.refreshToken), refused);
  assertError(t, await tryToken(vault, reused.accessToken), { status: 401, code: 'invalid_token' });

  await signer.restart();
  t.is((await refresh(vault, session.refreshToken)).status, 200);
  const entries = await entriesOf(vault, sessionIdOf(session.accessToken));
  t.deepEqual(
    entries.map(({ action }) => action),
    ['auth.login', 'auth.refreshed'],
  );
});

test('a refresh that fails without the database does not use up the token', async (t) => {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const vault = await startReadyVault(database.settings);
  t.teardown(() => vault.stop());
  const { refreshToken } = await openSession(vault, await createAccount(vault));
  await database.proxy.close();
  const away = { status: 503, code: 'database_unavailable' };
  assertError(t, await refresh(vault, refreshToken), away);
  await database.proxy.open();
  t.is((await refresh(vault, refreshToken)).status, 200);
});
