import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { beginLogin, createAccount, logIn } from '../../support/accounts/test-account.ts';
import { createTokenFixture, startSigner } from '../../support/audit/token-fixture.ts';
import { assertError } from '../../support/http/error-body.ts';
import { getJson, postJson } from '../../support/http/send.ts';
import { createTokenServer } from '../../support/processes/p11-kit.ts';
import { startReadyVault, startVault } from '../../support/vault/vault.ts';

test('a start while the HSM hangs becomes ready, and refuses only what needs it', async (t) => {
  t.timeout(180_000);
  await using resources = new AsyncDisposableStack();
  const fixture = await createTokenFixture();
  resources.defer(() => fixture.remove());
  await fixture.tool('init');
  const server = createTokenServer(fixture);
  await server.start();
  resources.defer(() => server.kill());
  const running = await startReadyVault();
  resources.defer(() => running.stop());
  const account = await createAccount(running);
  const token = await logIn(running, account);

  server.hang();
  const signer = startSigner(fixture, server.environment);
  resources.defer(async () => {
    await (await signer).stop();
  });
  const { SIGNER_SOCKET_PATH } = fixture.environment;
  const vault = await startVault({
    SIGNER_SOCKET_PATH,
    DATABASE_URL: running.databases.app,
    DATABASE_SERVICE_URL: running.databases.service,
    STORAGE_DIRECTORY: running.storeDirectory,
  });
  resources.defer(() => vault.stop());
  const status = async (path: string) => (await getJson(`${vault.baseUrl}${path}`, token)).status;
  await until(async () => (await status('/health/ready')) === 200, {
    what: 'readiness',
    timeoutMs: 60_000,
  });
  t.is(await status('/v1/documents'), 200);
  // A login in progress is encrypted under a key that the HSM derives.
  const { A } = await beginLogin(running, account);
  const { email } = account;
  const login = await postJson(`${vault.baseUrl}/v1/auth/login/challenge`, { email, A });
  assertError(t, login, { status: 503, code: 'signer_unavailable' });
  server.resume();
});
