import { randomBytes } from 'node:crypto';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { computeX, serviceSrp } from '../../../client/srp/srp.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { startOwnSigner } from '../../support/vault/own-signer.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';
import { startTcpProxy } from '../../support/network/tcp-proxy.ts';
import { send, type JsonAnswer } from '../../support/http/send.ts';
import { testStack } from '../../support/vault/stack.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { createPasswordUser, freshProof, reauth } from '../../support/accounts/reauth-account.ts';

test('a password appears in no log, error or header, accepted or refused', async (t) => {
  const signer = await startOwnSigner();
  t.teardown(() => signer[Symbol.asyncDispose]());
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const redis = await startTcpProxy(testStack().redisUrl);
  t.teardown(() => redis.close());
  const vault = await startReadyVault({
    ...database.settings,
    LOG_LEVEL: 'trace',
    SIGNER_SOCKET_PATH: signer.socketPath,
    REDIS_URL: redis.url,
    LIMITS_PROOF_ACCOUNT: '100/15m',
  });
  t.teardown(() => vault.stop());

  const password = `pass ${randomBytes(16).toString('hex')}`;
  const wrong = `wrong ${randomBytes(16).toString('hex')}`;
  const user = await createPasswordUser(vault, password);
  const { token } = user;
  const answers: JsonAnswer[] = [];
  const ask = async (body: object) => void answers.push(await reauth(vault, token, body));
  /** Sends the password in every accepted and refused form. */
  async function sendEverywhere(): Promise<void> {
    await Promise.all([ask({ password }), ask({ password: wrong }), ask({ password })]);
    await ask({ password, [password]: password });
    await ask({ password: password.repeat(50) });
    await ask({ password: { password } });
    await ask({ sessionId: password, A: password, M1: password });
    const url = `${vault.baseUrl}/v1/auth/reauth`;
    const json = { 'Content-Type': 'application/json' };
    const cut = Buffer.from(JSON.stringify({ password }).slice(0, -1));
    answers.push(await send('POST', url, { token, bytes: cut, headers: json }));
    answers.push(await send('POST', url, { token, bytes: Buffer.from(password) }));
    answers.push(await send('POST', url, { json: { password } }));
  }

  await ask(await freshProof(vault, user));
  await ask({ password });
  await sendEverywhere();
  const owner = await connectAs(database.ownerUrl);
  await owner.query('alter table audit_log add constraint broken check (false) not valid');
  // On a busy machine, the signer may answer too late before the database refuses.
  const isBroken = async () => {
    await ask({ password });
    return answers.at(-1)?.status === 500;
  };
  await until(isBroken, { what: 'a 500', timeoutMs: 60_000 });
  await owner.query('alter table audit_log drop constraint broken');
  await owner.end();
  await redis.close();
  await sendEverywhere();
  await signer.kill();
  await ask({ password });
  await database.proxy.close();
  await sendEverywhere();

  const issued = answers.filter(({ status }) => status === 200);
  const statuses = new Set(answers.map(({ status }) => status));
  for (const status of [200, 400, 401, 415, 500, 503]) t.true(statuses.has(status), `${status}`);
  const secrets = {
    password,
    'wrong password': wrong,
    'K_auth, hex': Buffer.from(user.authKey).toString('hex'),
    'K_auth, base64': Buffer.from(user.authKey).toString('base64'),
    x: computeX(serviceSrp, user.salt, user.authKey).toString(16),
    verifier: user.verifierHex,
    ...Object.fromEntries(
      issued.map(({ body }, index) => [
        `reauth token ${index}`,
        (body as { reauthToken: string }).reauthToken.split('.')[2] ?? '',
      ]),
    ),
  };
  const visible = {
    log: vault.logLines.join(''),
    'the signer’s output': signer.lines.join('\n'),
    'the answers': answers.flatMap(({ status, text }) => (status === 200 ? [] : text)).join('\n'),
    'the headers': answers.map(({ headers }) => JSON.stringify([...headers])).join('\n'),
  };
  t.true(visible.log.length > 1_000);
  for (const [where, text] of Object.entries(visible)) {
    for (const [name, secret] of Object.entries(secrets)) {
      t.true(secret.length >= 32 && !text.includes(secret), `${name} is in ${where}`);
    }
  }
});
