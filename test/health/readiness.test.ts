import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { startSrpLogin } from '../../client/srp/login.ts';
import { startOwnRedis } from '../support/network/own-redis.ts';
import { createAccount, logIn } from '../support/accounts/test-account.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { createTokenFixture, startSigner } from '../support/audit/token-fixture.ts';
import { createApi } from '../support/documents/uploads.ts';
import { assertError } from '../support/http/error-body.ts';
import { getJson, postJson } from '../support/http/send.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { startOwnSigner } from '../support/vault/own-signer.ts';
import { startReadyVault, startVault, type TestVault, type Vault } from '../support/vault/vault.ts';

/** The half second of the contract, and time for this machine to be busy with other tests. */
const limitMs = 2_000;

/**
 * Asks until the readiness is as expected and is told at once. While the machine is busy with other
 * tests, a process may not have looked around within half a second.
 */
const untilReadiness = ({ baseUrl }: Pick<Vault, 'baseUrl'>, status: 200 | 503) =>
  until(
    async () => {
      const startedAt = performance.now();
      const answer = await getJson(`${baseUrl}/health/ready`);
      return answer.status === status && performance.now() - startedAt < limitMs;
    },
    { what: `the readiness ${status}, told at once`, timeoutMs: 60_000 },
  );

async function checksOf({ baseUrl }: TestVault) {
  const { status, body } = await getJson(`${baseUrl}/health`);
  const { checks } = body as { checks: Record<string, { status: string; error?: string }> };
  return { status, checks };
}

test('requests that fill the pools and wait in them do not make a process unready', async (t) => {
  const vault = await startReadyVault({ DATABASE_POOL_SIZE: '2' });
  t.teardown(() => vault.stop());
  const apis = await Promise.all(Array.from({ length: 25 }, () => createApi(vault)));
  const owner = await connectAs(vault.databases.owner);
  t.teardown(() => owner.end());
  await owner.query('begin');
  await owner.query('lock table documents in access exclusive mode');
  const lists = apis.map((api) => api.send('GET', '/v1/documents'));
  const waiting = async () => {
    const { rows } = await owner.query<{ count: string }>(
      `select count(*) from pg_locks where not granted and relation = 'documents'::regclass`,
    );
    return Number(rows[0]?.count) === 2;
  };
  await until(waiting, { what: 'a full pool', timeoutMs: 60_000 });

  for (let count = 0; count < 3; count += 1) await untilReadiness(vault, 200);
  t.is((await checksOf(vault)).checks['database']?.status, 'ok');
  await owner.query('rollback');
  await Promise.all(lists);
});

test('while Redis hangs, a process is ready, and says so at once', async (t) => {
  const redis = await startOwnRedis(t);
  const vault = await startReadyVault({ REDIS_URL: redis.url, HTTP_REQUESTS_PER_CLIENT: '1' });
  t.teardown(() => vault.stop());
  redis.hang();
  // These wait for Redis in the slots of the client address that asks for the readiness, too.
  const logins = Array.from({ length: 4 }, () =>
    postJson(`${vault.baseUrl}/v1/auth/login/challenge`, { email: 'a@b.example', A: 'ab' }),
  );
  for (let count = 0; count < 3; count += 1) await untilReadiness(vault, 200);
  const { status, checks } = await checksOf(vault);
  t.is(status, 200);
  t.deepEqual([checks['cache']?.error, checks['queue']?.error], ['timeout', 'timeout']);
  redis.resume();
  await Promise.all(logins);
});

test('while Postgres hangs, a process is not ready, and says so at once', async (t) => {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const vault = await startReadyVault(database.settings);
  t.teardown(() => vault.stop());
  database.proxy.freeze();
  t.teardown(() => database.proxy.thaw());
  for (let count = 0; count < 3; count += 1) await untilReadiness(vault, 503);
  const { status, checks } = await checksOf(vault);
  t.is(status, 503);
  t.is(checks['database']?.error, 'timeout');
  database.proxy.thaw();
  await untilReadiness(vault, 200);
});

test('while the signer hangs, a process is not ready, and says so at once', async (t) => {
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  const vault = await startReadyVault({ SIGNER_SOCKET_PATH: signer.socketPath });
  t.teardown(() => vault.stop());
  await signer.kill();
  await rm(signer.socketPath, { force: true });
  const mute: Server = createServer(() => undefined);
  await once(mute.listen(signer.socketPath), 'listening');
  t.teardown(() => mute.close());
  for (let count = 0; count < 3; count += 1) await untilReadiness(vault, 503);
  const timedOut = async () => (await checksOf(vault)).checks['signer']?.error === 'timeout';
  t.true(await until(timedOut, { what: 'a check that timed out', timeoutMs: 60_000 }));
});

test('a start without the HSM becomes ready, and refuses only what needs the HSM', async (t) => {
  const running = await startReadyVault();
  t.teardown(() => running.stop());
  const account = await createAccount(running);
  const token = await logIn(running, account);
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  await signer.kill();
  await signer.restart({ SIGNER_TOKEN_LABEL: 'absent' });
  const vault = await startVault({
    SIGNER_SOCKET_PATH: signer.socketPath,
    DATABASE_URL: running.databases.app,
    DATABASE_SERVICE_URL: running.databases.service,
    STORAGE_DIRECTORY: running.storeDirectory,
  });
  t.teardown(() => vault.stop());

  await untilReadiness(vault, 200);
  t.like((await checksOf(vault)).checks['signer'], { error: 'hsm_unavailable' });
  t.is((await getJson(`${vault.baseUrl}/v1/documents`, token)).status, 200);
  const { A } = startSrpLogin();
  const login = await postJson(`${vault.baseUrl}/v1/auth/login/challenge`, {
    email: account.email,
    A,
  });
  assertError(t, login, { status: 503, code: 'signer_unavailable' });

  await signer.kill();
  await signer.restart();
  await until(async () => (await checksOf(vault)).checks['signer']?.status === 'ok', {
    what: 'the HSM',
    timeoutMs: 60_000,
  });
  // The process asks for its keys again every few seconds.
  const loggedIn = () => logIn(vault, account).catch(() => undefined);
  t.truthy(await until(loggedIn, { what: 'a login', timeoutMs: 60_000, intervalMs: 500 }));
});

test('the reason why sealing pauses follows its cause, from the HSM to the PIN', async (t) => {
  const fixture = await createTokenFixture();
  t.teardown(() => fixture.remove());
  await fixture.tool('init');
  let signer = await startSigner(fixture);
  t.teardown(() => signer.stop());
  const vault = await startReadyVault({
    SIGNER_SOCKET_PATH: fixture.environment.SIGNER_SOCKET_PATH,
    AUDIT_ALERT_PAUSE_SECONDS: '1',
  });
  t.teardown(() => vault.stop());
  const restart = async (environment: Record<string, string>) => {
    await signer.stop();
    signer = await startSigner(fixture, environment);
  };
  const reason = () =>
    vault.services.dlq.alerts({
      caller: { internalKey: 'test' },
      requestId: randomUUID(),
      clientAddress: '127.0.0.1',
    });
  const untilReason = (code: string) =>
    until(
      async () =>
        (await reason()).some(
          (alert) => alert.code === 'sealing_paused' && alert.message.includes(` ${code};`),
        ),
      { what: `the reason ${code}`, timeoutMs: 60_000 },
    );
  const untilCheck = (code: string) =>
    until(async () => (await checksOf(vault)).checks['signer']?.error === code, {
      what: `the check ${code}`,
      timeoutMs: 60_000,
    });

  const api = await createApi(vault);
  await restart({ SIGNER_TOKEN_LABEL: 'absent' });
  await api.send('POST', '/v1/uploads', {
    json: { fileName: 'a', fileSize: 1, mimeType: 'application/octet-stream', totalParts: 1 },
  });
  await untilReason('hsm_unavailable');
  await untilCheck('hsm_unavailable');
  await untilReadiness(vault, 200);

  const wrongPin = path.join(fixture.directory, 'wrong-pin');
  await writeFile(wrongPin, 'wrong-pin-000\n');
  await restart({ SIGNER_PIN_FILE: wrongPin });
  await untilReason('pin_incorrect');
  await untilCheck('pin_incorrect');
  await untilReadiness(vault, 200);
  const paused = vault.logLines.map((line) => JSON.parse(line) as { msg: string; reason?: string });
  const lines = paused.filter(({ msg }) => /^sealing (pauses|is still paused)/.test(msg));
  t.is(lines.at(-1)?.reason, 'pin_incorrect');

  await restart({});
  await until(async () => (await reason()).length === 0, { what: 'no alert', timeoutMs: 60_000 });
});
