import { chmod, rename } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { beginLogin, createAccount, logIn } from '../support/accounts/test-account.ts';
import { assertError, assertSecurityHeaders } from '../support/http/error-body.ts';
import { startReadyVault, startVault, type TestVault } from '../support/vault/vault.ts';
import { getJson, postJson } from '../support/http/send.ts';
import { testStack } from '../support/vault/stack.ts';
import { startOwnSigner } from '../support/vault/own-signer.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';

interface Report {
  readonly status: string;
  readonly version: string;
  readonly checks: Record<
    string,
    { readonly status: string; readonly latencyMs: number; readonly error?: string }
  >;
}

/** Seconds after which a refused probe may ask again. */
const retryAfter = '5';
const checkNames = ['cache', 'database', 'jwks', 'queue', 'signer', 'storage'];

/**
 * Polls /health until it has this status, since its responses are cached for a second, and until no
 * check takes too long, as one may on a busy machine.
 */
async function reportOf(t: ExecutionContext, { baseUrl }: TestVault, status: Report['status']) {
  const answer = await until(
    async () => {
      const asked = await getJson(`${baseUrl}/health`);
      const { status: found, checks } = asked.body as Report;
      const isSlow = Object.values(checks).some(({ error }) => error === 'timeout');
      return found === status && !isSlow && asked;
    },
    { what: `the status ${status}`, timeoutMs: 60_000 },
  );
  assertSecurityHeaders(t, answer.headers);
  t.is(answer.headers.get('cache-control'), 'no-store');
  t.is(answer.headers.get('retry-after'), answer.status === 503 ? retryAfter : null);
  const report = answer.body as Report;
  t.deepEqual(Object.keys(report).sort(), ['checks', 'status', 'version']);
  t.deepEqual(Object.keys(report.checks).sort(), checkNames);
  for (const check of Object.values(report.checks)) {
    t.true(Number.isInteger(check.latencyMs));
    t.is(check.error === undefined, check.status === 'ok');
    if (check.error !== undefined)
      t.regex(check.error, /^[a-z]+(_[a-z]+)*$/, 'the error is a code and no message');
  }
  const failing = Object.entries(report.checks).filter(([, { status }]) => status !== 'ok');
  return { status: answer.status, failing: failing.map(([name]) => name).sort(), report };
}

/**
 * Polls the readiness probe until it has this status: it refuses if it could not look around within
 * half a second, as on a busy machine. Its refusals alone say when to ask again.
 */
async function untilReadiness(t: ExecutionContext, { baseUrl }: TestVault, expected: 200 | 503) {
  const { headers } = await until(
    async () => {
      const asked = await getJson(`${baseUrl}/health/ready`);
      return asked.status === expected && asked;
    },
    { what: `the readiness ${expected}`, timeoutMs: 60_000 },
  );
  t.is(headers.get('retry-after'), expected === 503 ? retryAfter : null);
}

const liveness = async ({ baseUrl }: TestVault) => (await getJson(`${baseUrl}/health/live`)).status;

test('all checks are ok when every service is available', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const { status, failing } = await reportOf(t, vault, 'ok');
  t.is(status, 200);
  t.deepEqual(failing, []);
  await untilReadiness(t, vault, 200);
  t.is(await liveness(vault), 200);
});

test('the root route returns the product’s name, version and description', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const { body } = await getJson(`${vault.baseUrl}/`);
  t.deepEqual(Object.keys(body as object).sort(), ['description', 'name', 'version']);
});

test('without Redis the vault is degraded and still ready', async (t) => {
  const redis = await startTcpProxy(testStack().redisUrl);
  t.teardown(() => redis.close());
  const vault = await startReadyVault({ REDIS_URL: redis.url });
  t.teardown(() => vault.stop());
  const cache = async () => (await getJson(`${vault.baseUrl}/v1/health/cache`)).body;
  const last = async () =>
    (await getJson(`${vault.baseUrl}/v1/health/cache/status`)).body as Record<string, unknown>;

  t.deepEqual(await last(), { status: 'unknown', connected: false, checkedAt: null });
  const { memoryUsage, ...rest } = (await cache()) as { memoryUsage: Record<string, string> };
  t.deepEqual(rest, { status: 'ok', connected: true, tlsEnabled: false, authEnabled: true });
  t.deepEqual(Object.keys(memoryUsage).sort(), ['peak', 'used']);
  const seen = await last();
  t.like(seen, { status: 'ok', connected: true });

  await redis.close();
  const { status, failing } = await reportOf(t, vault, 'degraded');
  t.is(status, 200);
  t.deepEqual(failing, ['cache', 'queue']);
  await untilReadiness(t, vault, 200);
  t.deepEqual(await last(), seen, 'the status route sends no ping');
  t.like(await cache(), {
    status: 'error',
    connected: false,
    memoryUsage: { used: null, peak: null },
  });
  t.like(await last(), { status: 'error', connected: false });

  await redis.open();
  t.deepEqual((await reportOf(t, vault, 'ok')).failing, []);
});

test('without the signer the vault is in error and not ready, until it is back', async (t) => {
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  const vault = await startReadyVault({ SIGNER_SOCKET_PATH: signer.socketPath });
  t.teardown(() => vault.stop());
  await signer.kill();
  const { status, failing } = await reportOf(t, vault, 'error');
  t.is(status, 503);
  t.deepEqual(failing, ['signer']);
  await untilReadiness(t, vault, 503);
  t.is(await liveness(vault), 200);
  await signer.restart();
  await reportOf(t, vault, 'ok');
  await untilReadiness(t, vault, 200);
});

test('without its HSM the vault is degraded and ready, and refuses only signing', async (t) => {
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  const vault = await startReadyVault({ SIGNER_SOCKET_PATH: signer.socketPath });
  t.teardown(() => vault.stop());
  const account = await createAccount(vault);
  const token = await logIn(vault, account);
  await signer.kill();
  await signer.restart({ SIGNER_TOKEN_LABEL: 'absent' });

  const { status, failing, report } = await reportOf(t, vault, 'degraded');
  t.is(status, 200);
  t.deepEqual(failing, ['signer']);
  t.is(report.checks['signer']?.error, 'hsm_unavailable');
  await untilReadiness(t, vault, 200);
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  const login = await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1 });
  assertError(t, login, { status: 503, code: 'signer_unavailable' });
  t.is((await getJson(`${vault.baseUrl}/v1/documents`, token)).status, 200);
});

test('without the database the vault is in error and not ready, until it is back', async (t) => {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const vault = await startReadyVault(database.settings);
  t.teardown(() => vault.stop());
  await database.proxy.close();
  const { status, failing } = await reportOf(t, vault, 'error');
  t.is(status, 503);
  t.true(failing.includes('database'));
  await untilReadiness(t, vault, 503);
  t.is(await liveness(vault), 200);
  await database.proxy.open();
  await reportOf(t, vault, 'ok');
  await untilReadiness(t, vault, 200);
});

test('without the object store the vault is degraded and still ready', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const { storage } = vault.config;
  const directory = storage.driver === 'filesystem' ? storage.directory : '';
  await rename(directory, `${directory}.away`);
  const { status, failing } = await reportOf(t, vault, 'degraded');
  await rename(`${directory}.away`, directory);
  await chmod(directory, 0o700);
  t.is(status, 200);
  t.deepEqual(failing, ['storage']);
  await untilReadiness(t, vault, 200);
  await reportOf(t, vault, 'ok');
});

test('each check tells the class of its failure, and no message', async (t) => {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const redisUrl = Object.assign(new URL(testStack().redisUrl), { password: 'wrong-jam' }).href;
  const vault = await startVault({
    ...database.settings,
    REDIS_URL: redisUrl,
    SIGNER_SOCKET_PATH: '/nowhere/signer.sock',
    STORAGE_DRIVER: 's3',
    STORAGE_ENDPOINT: 'http://nothing.invalid',
    STORAGE_BUCKET: 'bucket',
    STORAGE_ACCESS_KEY_ID: 'id',
    STORAGE_SECRET_ACCESS_KEY: 'secret-jam',
  });
  t.teardown(() => vault.stop());
  await database.proxy.close();
  const classes = {
    database: 'refused',
    cache: 'auth',
    storage: 'dns',
    queue: 'auth',
    signer: 'not_found',
    jwks: 'refused',
  };
  // A connection that breaks, and a check on a busy machine, have another class at first.
  const report = await until(
    async () => {
      const { report } = await reportOf(t, vault, 'error');
      const found = Object.entries(report.checks).map(([name, { error }]) => [name, error]);
      return isDeepStrictEqual(Object.fromEntries(found), classes) && report;
    },
    { what: 'the classes', timeoutMs: 60_000, intervalMs: 500 },
  );
  t.notRegex(JSON.stringify(report), /jam|nowhere|invalid/);
});

test('a process that cannot reach the signer yet is alive, and becomes ready later', async (t) => {
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  await signer.kill();
  const vault = await startVault({ SIGNER_SOCKET_PATH: signer.socketPath });
  t.teardown(() => vault.stop());
  t.is(await liveness(vault), 200);
  await untilReadiness(t, vault, 503);
  await signer.restart();
  await untilReadiness(t, vault, 200);
  t.truthy(await logIn(vault, await createAccount(vault)));
});

test('a draining process is alive and not ready', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  vault.services.beginDrain();
  await untilReadiness(t, vault, 503);
  t.is(await liveness(vault), 200);
  t.is((await getJson(`${vault.baseUrl}/health`)).status, 200);
});
