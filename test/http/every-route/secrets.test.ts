import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import test from 'ava';
import { decodeJwt } from 'jose';
import {
  beginLogin,
  inventAccount,
  openSession,
  register,
  validate,
  type TestAccount,
} from '../../support/accounts/test-account.ts';
import { validationMails } from '../../support/accounts/mails.ts';
import { readMetrics } from '../../support/audit/token-fixture.ts';
import { scrapePage } from '../../support/metrics/open-metrics.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { startOwnSigner } from '../../support/vault/own-signer.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';
import { startTcpProxy } from '../../support/network/tcp-proxy.ts';
import { testStack } from '../../support/vault/stack.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { startVault, type TestVault, startReadyVault } from '../../support/vault/vault.ts';
import { textOfTraces, tracedTo, traceThisProcess } from '../../support/tracing/traced-vault.ts';
import { send, type JsonAnswer, type SendOptions } from '../../support/http/send.ts';

/** The responses so far, and the secrets by name that must not leak. */
interface Traces {
  readonly answers: JsonAnswer[];
  readonly secrets: Map<string, string>;
}

test('no secret is in a log line, metric, span or response, whatever fails', async (t) => {
  const receiver = await traceThisProcess(t);
  const signer = await startOwnSigner(tracedTo(receiver));
  t.teardown(() => signer[Symbol.asyncDispose]());
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const redis = await startTcpProxy(testStack().redisUrl);
  t.teardown(() => redis.close());
  const vault = await startReadyVault({
    ...database.settings,
    METRICS_PORT: '0',
    LOG_LEVEL: 'trace',
    SIGNER_SOCKET_PATH: signer.socketPath,
    REDIS_URL: redis.url,
  });
  t.teardown(() => vault.stop());

  const secrets = new Map<string, string>();
  const traces: Traces = { answers: [], secrets };
  const account = inventAccount();
  await liveWell(vault, account, traces);
  await failInEveryWay(vault, account, traces);
  await breakTheTables(vault, database.ownerUrl, traces);
  await redis.close();
  await failInEveryWay(vault, account, traces);
  const signerMetrics = await readMetrics(signer.socketPath);
  await signer.kill();
  await failInEveryWay(vault, account, traces);
  await database.proxy.close();
  await failInEveryWay(vault, account, traces);

  await addConfiguredSecrets(vault, secrets);
  const statuses = new Set(traces.answers.map(({ status }) => status));
  for (const status of [400, 401, 404, 409, 413, 415, 500, 503])
    t.true(statuses.has(status), `${status}`);
  const errors = traces.answers.filter(({ status }) => status >= 400);
  const visible = {
    log: vault.logLines.join(''),
    'the metrics': (await scrapePage(vault.services.metrics.registry)).text,
    'the signer’s metrics': signerMetrics,
    'the traces': await textOfTraces(vault, receiver),
    'the signer’s output': signer.lines.join('\n'),
    'the error bodies': errors.map(({ text }) => text).join('\n'),
    'the headers': traces.answers.map(({ headers }) => JSON.stringify([...headers])).join('\n'),
  };
  t.true(visible.log.length > 10_000);
  t.regex(visible['the metrics'], /http_route="\/v1\/documents\/:id\/certify".* # \{trace_id="/);
  const { sub = '', sid } = decodeJwt(secrets.get('access token') ?? '');
  // The log may have these, but no metric and no span.
  for (const personal of [account.email, '127.0.0.1', sub, String(sid), '00000000-0000-7000']) {
    t.false(visible['the metrics'].includes(personal), personal);
    t.false(visible['the traces'].includes(personal), around(visible['the traces'], personal));
  }
  for (const seen of ['"C_Sign"', '"POST /v1/auth/login/verify"', 'audit_log', '"redis"']) {
    t.true(visible['the traces'].includes(seen), seen);
  }
  for (const [where, text] of Object.entries(visible)) {
    for (const [name, secret] of secrets) {
      t.true(
        secret.length >= 4 && !text.includes(secret),
        `${name} is in ${where}: ${around(text, secret)}`,
      );
    }
  }
});

function around(text: string, secret: string): string {
  const at = text.indexOf(secret);
  return at === -1 ? '' : text.slice(Math.max(0, at - 300), at + 40);
}

function ask({ baseUrl }: TestVault, { answers }: Traces) {
  return async (method: string, path: string, options: SendOptions = {}) => {
    const answer = await send(method, `${baseUrl}${path}`, options);
    answers.push(answer);
    return answer;
  };
}

/** Runs a user's life from registration to logout without an error. */
async function liveWell(vault: TestVault, account: TestAccount, traces: Traces): Promise<void> {
  const { secrets } = traces;
  const request = ask(vault, traces);
  traces.answers.push(await register(vault, account));
  const [mail] = await validationMails(vault, account.email, 1);
  secrets.set('salt', account.saltHex).set('verifier', account.verifierHex);
  secrets.set('validation token', mail?.token ?? '');
  traces.answers.push(await validate(vault, mail?.token ?? ''));

  const { sessionId, A, B, M1 } = await beginLogin(vault, account);
  const login = await request('POST', '/v1/auth/login/verify', { json: { sessionId, A, M1 } });
  const { accessToken, refreshToken, M2 } = login.body as Record<
    'accessToken' | 'refreshToken' | 'M2',
    string
  >;
  secrets.set('refresh token', refreshToken);
  secrets.set('A', A).set('B', B).set('M1', M1).set('M2', M2).set('access token', accessToken);
  secrets.set('signature of the access token', accessToken.split('.')[2] ?? '');

  const encryptedEnvelope = randomBytes(40).toString('base64');
  const encryptedMetadata = randomBytes(60).toString('base64');
  const keyword = randomBytes(32).toString('hex');
  const bytes = new Uint8Array(randomBytes(64));
  secrets.set('envelope', encryptedEnvelope).set('metadata', encryptedMetadata);
  secrets.set('keyword', keyword).set('file', Buffer.from(bytes).toString('base64'));
  const token = accessToken;
  const envelope = { token, json: { encryptedEnvelope } };
  await request('POST', '/v1/crypto/keys/master-envelope', envelope);
  await request('POST', '/v1/crypto/keys/master-envelope', envelope);
  const file = { fileName: 'a', fileSize: 64, mimeType: 'application/octet-stream', totalParts: 1 };
  const upload = await request('POST', '/v1/uploads', { token, json: file });
  const { sessionId: uploadId } = upload.body as { sessionId: string };
  await request('PUT', `/v1/uploads/${uploadId}/parts/1`, { token, bytes });
  const completed = await request('POST', `/v1/uploads/${uploadId}/complete`, { token });
  const { fileKey: storagePath } = completed.body as { fileKey: string };
  const json = { encryptedMetadata, keywordDeterministic: [keyword], storagePath };
  const document = await request('POST', '/v1/documents', { token, json });
  const { id } = document.body as { id: string };
  await request('POST', `/v1/documents/${id}/certify`, { token });
  await request('POST', `/v1/documents/${id}/certify`, { token });
  await endSession(vault, account, traces);
}

/** Ends a session by replaying a used refresh token, which leaves the most traces. */
async function endSession(vault: TestVault, account: TestAccount, traces: Traces): Promise<void> {
  const request = ask(vault, traces);
  const { refreshToken } = await openSession(vault, account);
  const refresh = await request('POST', '/v1/auth/refresh', { json: { refreshToken } });
  const next = refresh.body as { refreshToken: string; accessToken: string };
  traces.secrets.set('used refresh token', refreshToken);
  traces.secrets.set('unused refresh token', next.refreshToken);
  await request('POST', '/v1/auth/refresh', { json: { refreshToken } });
  await request('POST', '/v1/auth/refresh', { json: { refreshToken: next.refreshToken } });
  await request('POST', '/v1/auth/logout', { token: next.accessToken });
}

/** Sends the refresh token where it belongs and where it does not. */
async function refreshInEveryWay(vault: TestVault, traces: Traces): Promise<void> {
  const request = ask(vault, traces);
  const { secrets } = traces;
  const refreshToken = secrets.get('refresh token') ?? '';
  await request('POST', '/v1/auth/refresh', { json: { refreshToken: `${refreshToken}x` } });
  await request('POST', '/v1/auth/refresh', { json: { refreshToken, more: refreshToken } });
  await request('POST', `/v1/auth/refresh?refreshToken=${refreshToken}`, { json: {} });
  await request('GET', '/v1/auth/sessions', { token: refreshToken });
  const { body } = await request('POST', '/v1/auth/refresh', { json: { refreshToken } });
  const renewed = (body as { refreshToken?: string }).refreshToken;
  if (renewed === undefined) return;
  secrets.set(`refresh token, replaced as number ${secrets.size}`, refreshToken);
  secrets.set('refresh token', renewed);
}

/** Sends requests that are refused and carry every secret where it does not belong. */
async function failInEveryWay(
  vault: TestVault,
  account: TestAccount,
  traces: Traces,
): Promise<void> {
  const request = ask(vault, traces);
  const { secrets } = traces;
  const all = Object.fromEntries(secrets);
  const token = secrets.get('access token') ?? '';
  const { email, saltHex: salt, verifierHex: verifier } = account;
  await request('POST', '/v1/auth/register', { json: all });
  await request('POST', '/v1/auth/register', { json: { ...all, password: verifier } });
  await request('POST', '/v1/auth/register', {
    json: { email: salt, salt: verifier, verifier: salt },
  });
  await request('POST', '/v1/auth/register', { json: { email, salt, verifier: `${verifier}zz` } });
  await request('POST', '/v1/auth/register', { json: { email: `${email}.test`, salt, verifier } });
  await request('POST', '/v1/auth/register', { json: { email: verifier.repeat(2_000) } });
  await request('POST', '/v1/auth/register', {
    bytes: Buffer.from(JSON.stringify(all).slice(0, -9)),
    headers: { 'Content-Type': 'application/json' },
  });
  await request('POST', '/v1/auth/register', { bytes: Buffer.from(verifier) });
  await request('POST', '/v1/auth/validate-email', {
    json: { token: secrets.get('validation token') },
  });
  await request('POST', '/v1/auth/validate-email', { json: { token: { token } } });
  const A = secrets.get('A') ?? '';
  await request('POST', '/v1/auth/login/challenge', { json: { email, A } });
  await request('POST', '/v1/auth/login/challenge', { json: { email: `no.${email}`, A } });
  await request('POST', '/v1/auth/login/verify', { json: { A, M1: secrets.get('M1') } });
  await request('POST', '/v1/auth/login/verify', { json: { A, M1: secrets.get('envelope') } });
  await refreshInEveryWay(vault, traces);
  await request('GET', '/v1/documents', { token: `${token}x` });
  await request('GET', '/v1/documents', { token: token.slice(0, -20) });
  await request('GET', '/v1/documents', { token });
  await request('GET', `/v1/documents?token=${token}`, { token });
  await request('GET', `/v1/documents`, { token: token.replace('.', '..') });
  await request('GET', '/v1/crypto/keys/master-envelope', { token });
  await request('GET', '/v1/documents/00000000-0000-7000-8000-000000000000', { token });
  await request('POST', '/v1/crypto/keys/master-envelope', {
    token,
    json: { encryptedEnvelope: `${secrets.get('envelope')}=` },
  });
  await request('POST', '/v1/crypto/keys/master-envelope', {
    token,
    json: { encryptedEnvelope: secrets.get('envelope') },
  });
}

/** Makes Postgres refuse rows, since its error quotes the whole row. */
async function breakTheTables(vault: TestVault, ownerUrl: string, traces: Traces): Promise<void> {
  const request = ask(vault, traces);
  const owner = await connectAs(ownerUrl);
  const refuseRows = async (table: string, work: () => Promise<unknown>) => {
    await owner.query(`alter table ${table} add constraint broken check (false) not valid`);
    await work();
    await owner.query(`alter table ${table} drop constraint broken`);
  };
  const register = async () => {
    const account = inventAccount();
    traces.secrets.set('another verifier', account.verifierHex);
    const { email, saltHex: salt, verifierHex: verifier } = account;
    await request('POST', '/v1/auth/register', { json: { email, salt, verifier } });
  };
  await refuseRows('registrations', register);
  await refuseRows('outbox', register);
  await refuseRows('audit_log', register);
  const pending = inventAccount();
  await request('POST', '/v1/auth/register', {
    json: { email: pending.email, salt: pending.saltHex, verifier: pending.verifierHex },
  });
  const [mail] = await validationMails(vault, pending.email, 1);
  traces.secrets
    .set('another token', mail?.token ?? '')
    .set('a third verifier', pending.verifierHex);
  for (const table of ['login_sessions', 'audit_log']) {
    await refuseRows(table, () => refreshInEveryWay(vault, traces));
  }
  await refuseRows('credentials', () =>
    request('POST', '/v1/auth/validate-email', { json: { token: mail?.token } }),
  );
  await owner.end();
}

/** Adds the secrets that the processes are configured with. */
async function addConfiguredSecrets({ config }: TestVault, secrets: Map<string, string>) {
  const { SIGNER_PIN_FILE: pinFile = '' } = testStack().signerEnvironment;
  secrets.set('PIN', (await readFile(pinFile, 'utf8')).trim());
  for (const url of [config.database.url, config.database.serviceUrl, config.redis.url]) {
    const { username, password } = new URL(url);
    secrets.set(`the password of ${username === '' ? 'redis' : username}`, password);
  }
}

test('a password that Redis refuses is not logged', async (t) => {
  const url = Object.assign(new URL(testStack().redisUrl), { password: 'a-rotated-password' });
  const vault = await startVault({ LOG_LEVEL: 'trace', REDIS_URL: url.href });
  t.teardown(() => vault.stop());
  const log = await until(
    () => vault.logLines.some((line) => line.includes('WRONGPASS')) && vault.logLines.join(''),
    {
      what: 'the log line of the refusal',
      timeoutMs: 60_000,
    },
  );
  t.notRegex(log, /a-rotated-password/);
});
