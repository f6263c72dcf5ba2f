import test from 'ava';
import { startOwnSigner } from '../support/vault/own-signer.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { assertError } from '../support/http/error-body.ts';
import { startReadyVault, startVault } from '../support/vault/vault.ts';
import { createAccount, inventAccount, register } from '../support/accounts/test-account.ts';

test('without the signer known and unknown e-mail addresses get the same response', async (t) => {
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const settings = { ...database.settings, SIGNER_SOCKET_PATH: signer.socketPath };
  const earlier = await startReadyVault(settings);
  const known = await createAccount(earlier);
  await earlier.stop();

  await signer.kill();
  const vault = await startVault(settings);
  t.teardown(() => vault.stop());
  for (const account of [known, inventAccount()]) {
    const answer = await register(vault, inventAccount(account.email));
    assertError(t, answer, { status: 503, code: 'signer_unavailable' });
  }
});
