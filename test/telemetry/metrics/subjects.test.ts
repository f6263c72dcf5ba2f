import test, { type ExecutionContext } from 'ava';
import { randomBytes } from 'node:crypto';
import { until } from '../../../app/dev/processes/until.ts';
import { createOwnSigner } from '../../support/audit/killable-signer.ts';
import {
  beginLogin,
  createAccount,
  inventAccount,
  openSession,
  register,
} from '../../support/accounts/test-account.ts';
import { certify, storeDocument } from '../../support/documents/documents.ts';
import { bytesOf } from '../../support/documents/files.ts';
import { createPerson } from '../../support/documents/people.ts';
import { postJson } from '../../support/http/send.ts';
import { createMfaUser, wrongCode } from '../../support/mfa/mfa-user.ts';
import { scrape, valueOf, type Series } from '../../support/metrics/scrape.ts';
import { startOwnRedis } from '../../support/network/own-redis.ts';
import { createDevice } from '../../support/sync/devices.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { openFeed } from '../../sync/feed/feed-reader.ts';

async function start(t: ExecutionContext, settings: NodeJS.ProcessEnv = {}): Promise<TestVault> {
  const vault = await startReadyVault(settings);
  t.teardown(() => vault.stop());
  return vault;
}

const scrapeOf = ({ services }: TestVault) => scrape(services.metrics.registry);

/** Polls until a series has a value, and resolves with the whole scrape. */
async function untilValue(
  vault: TestVault,
  [name, labels, value]: readonly [string, Readonly<Record<string, string>>, number],
): Promise<readonly Series[]> {
  return until(
    async () => {
      const series = await scrapeOf(vault);
      return valueOf(series, name, labels) === value && series;
    },
    { what: `${name} ${JSON.stringify(labels)} to be ${value}`, timeoutMs: 60_000 },
  );
}

test('attempts to get in are counted by result, and so are refusals of limits', async (t) => {
  const { url } = await startOwnRedis(t);
  // Without Redis, which may connect late, half of a limit holds.
  const vault = await start(t, { LIMITS_REGISTER_ADDRESS: '4/1h', REDIS_URL: url });
  const account = await createAccount(vault);
  const { refreshToken } = await openSession(vault, account);
  await postJson(`${vault.baseUrl}/v1/auth/refresh`, { refreshToken });
  const { sessionId, A } = await beginLogin(vault, account);
  const M1 = randomBytes(32).toString('hex');
  await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1 });
  await postJson(`${vault.baseUrl}/v1/auth/refresh`, { refreshToken: 'x'.repeat(43) });
  const isRefused = async () => (await register(vault, inventAccount())).status === 429;
  await until(isRefused, { what: 'a refused registration', timeoutMs: 30_000 });
  const attempts = 'probatio_auth_attempts_total';
  const series = await scrapeOf(vault);
  t.is(valueOf(series, attempts, { step: 'challenge', result: 'success' }), 2);
  t.is(valueOf(series, attempts, { step: 'login', result: 'success' }), 1);
  t.is(valueOf(series, attempts, { step: 'login', result: 'invalid_proof' }), 1);
  t.is(valueOf(series, attempts, { step: 'refresh', result: 'success' }), 1);
  t.is(valueOf(series, attempts, { step: 'refresh', result: 'invalid_refresh_token' }), 1);
  const hits = 'probatio_rate_limit_hits_total';
  t.is(valueOf(series, hits, { limit: 'register-address' }), 1);
  t.is(valueOf(series, hits, { limit: 'proof-account' }), 0);
});

test('bytes of uploads and downloads are counted, and entries by action', async (t) => {
  const vault = await start(t);
  const { api } = await createPerson(vault);
  const bytes = bytesOf(1_234);
  const { id } = await storeDocument(t, api, bytes);
  await fetch(`${vault.baseUrl}/v1/documents/${id}/download`, {
    headers: { authorization: `Bearer ${api.token}` },
  }).then((response) => response.arrayBuffer());
  const series = await untilValue(vault, ['probatio_download_bytes_total', {}, 1_234]);
  t.is(valueOf(series, 'probatio_upload_bytes_total'), 1_234);
  const appended = 'probatio_audit_entries_appended_total';
  t.is(valueOf(series, appended, { action: 'document.created' }), 1);
  t.is(valueOf(series, appended, { action: 'document.deleted' }), 0);
  t.is((await certify(api, id)).status, 200);
  const later = await scrapeOf(vault);
  t.is(valueOf(later, appended, { action: 'document.sealed' }), 1);
});

test('statements are timed by login and operation', async (t) => {
  const vault = await start(t);
  const { api } = await createPerson(vault);
  await api.send('GET', '/v1/documents');
  const series = await scrapeOf(vault);
  const statements = 'db_client_operation_duration_seconds';
  for (const login of ['app', 'service']) {
    for (const operation of ['BEGIN', 'SELECT', 'COMMIT']) {
      const found = series.filter(
        ({ name, labels }) =>
          name === `${statements}_count` &&
          labels['login'] === login &&
          labels['db_operation_name'] === operation &&
          labels['error_type'] === undefined,
      );
      t.is(found.length, 1, `${login} ${operation}`);
    }
  }
  const pool = { db_client_connection_pool_name: 'app' };
  t.is(valueOf(series, 'db_client_connection_max', pool), vault.config.database.poolSize);
  t.is(valueOf(series, 'db_client_connection_pending_requests', pool), 0);
  t.true(series.every(({ labels }) => labels['db_operation_name'] !== '_OTHER'));
});

test('open event streams are counted until their clients leave', async (t) => {
  const vault = await start(t);
  const device = await createDevice(vault);
  const feed = await openFeed(t, vault, device);
  t.is(feed.status, 200);
  await untilValue(vault, ['probatio_event_streams', { kind: 'sync' }, 1]);
  feed.leave();
  await untilValue(vault, ['probatio_event_streams', { kind: 'sync' }, 0]);
  t.pass();
});

test('sealing is timed, and is paused while the signer is away', async (t) => {
  const signer = await createOwnSigner();
  t.teardown(() => signer.remove());
  await signer.start();
  const vault = await start(t, { SIGNER_SOCKET_PATH: signer.socketPath });
  const { api } = await createPerson(vault);
  const { id } = await storeDocument(t, api);
  t.is((await certify(api, id)).status, 200);
  const series = await scrapeOf(vault);
  for (const cause of ['database', 'other']) {
    t.is(valueOf(series, 'probatio_sealing_paused', { cause }), 0);
  }
  t.true(Number(valueOf(series, 'probatio_sealing_batch_entries_sum')) >= 2);
  const batches = 'probatio_sealing_batch_duration_seconds_count';
  t.true(Number(valueOf(series, batches, { result: 'signed' })) >= 1);
  const calls = 'probatio_signer_call_duration_seconds_count';
  t.true(Number(valueOf(series, calls, { url_template: '/v1/seal', result: 'ok' })) >= 1);

  await signer.kill();
  await storeDocument(t, api);
  const paused = await untilValue(vault, ['probatio_sealing_paused', { cause: 'other' }, 1]);
  t.true(Number(valueOf(paused, batches, { result: 'failed' })) >= 1);
  const away = valueOf(paused, calls, { url_template: '/v1/seal', result: 'unreachable' });
  t.true(Number(away) >= 1);
  await signer.start();
  await untilValue(vault, ['probatio_sealing_paused', { cause: 'other' }, 0]);
});

test('calls of the identity provider are timed by operation, and codes counted', async (t) => {
  const vault = await start(t);
  const user = await createMfaUser(vault);
  const secret = await user.begin();
  t.is((await user.verify(wrongCode(secret))).status, 400);
  const series = await scrapeOf(vault);
  const calls = 'probatio_identity_provider_call_duration_seconds_count';
  const found = series.filter(({ name, labels }) => name === calls && labels['result'] === 'ok');
  t.true(found.length > 0);
  t.true(found.every(({ labels }) => labels['operation'] !== '_OTHER'));
  const wrong = { step: 'one-time-code', result: 'invalid_code' };
  t.is(valueOf(series, 'probatio_auth_attempts_total', wrong), 1);
});
