import test from 'ava';
import { Redis } from 'ioredis';
import { Secret } from 'otpauth';
import { realmVariables } from '../../app/dev/identity-provider/realm.ts';
import { dump } from '../support/accounts/purge-vault.ts';
import { send, type JsonAnswer } from '../support/http/send.ts';
import { startFaultyProvider } from '../support/mfa/faulty-provider.ts';
import { asMfaUser, codeOf, createMfaUser, wrongCode } from '../support/mfa/mfa-user.ts';
import { createSql } from '../support/vault/sql.ts';
import { testStack } from '../support/vault/stack.ts';
import { startReadyVault } from '../support/vault/vault.ts';

test('no secret of MFA is in a log, an error, a URL, Postgres or Redis', async (t) => {
  const urls: string[] = [];
  const tokens = new Set<string>();
  const provider = await startFaultyProvider(testStack().identityProviderUrl);
  t.teardown(() => provider.stop());
  const vault = await startReadyVault({ ...realmVariables(provider.url), LOG_LEVEL: 'trace' });
  t.teardown(() => vault.stop());
  const see = (fault: 500 | 'cut' | undefined) =>
    provider.breakAs(({ url = '', headers, method }) => {
      urls.push(url);
      tokens.add(headers.authorization?.replace('Bearer ', '') ?? '');
      return method === 'PUT' ? fault : undefined;
    });

  see(undefined);
  const answers: JsonAnswer[] = [];
  const user = await createMfaUser(vault);
  const secret = await user.begin();
  answers.push(await user.verify(wrongCode(secret)), await user.verify(secret));
  const url = `${vault.baseUrl}/v1/user/mfa/totp/verify`;
  const { token } = user;
  answers.push(await send('POST', url, { json: { code: codeOf(secret), secret }, token }));
  answers.push(await send('POST', `${url}?secret=${secret}`, { json: { code: secret }, token }));
  const path = `${vault.baseUrl}/v1/user/mfa/${secret}`;
  const lost = await send('GET', path, { token });
  see(500);
  answers.push(await user.verify(codeOf(secret, -1)));
  see(undefined);
  await createSql(vault)('update mfa_users set held_until = now()');
  const enabled = await asMfaUser(vault, user).verify(codeOf(secret, 1));
  t.is(enabled.status, 200);
  const { recoveryCodes } = enabled.body as { readonly recoveryCodes: readonly string[] };
  const pending = await createMfaUser(vault);
  const unused = await pending.begin();
  answers.push(await user.init(), await user.verify('123456'));
  for (const { status } of answers) t.true(status >= 400);
  for (const status of [400, 409, 503]) t.true(answers.some((each) => each.status === status));
  t.is(lost.status, 404);

  const rows = [...(await dump(createSql(vault))).values()].join('\n');
  const visible = {
    log: vault.logLines.filter((line) => !line.includes(`/mfa/${secret}`)).join(''),
    'the errors': answers.map(({ text }) => text).join('\n'),
    'the headers': answers.map(({ headers }) => JSON.stringify([...headers])).join('\n'),
    'the URLs at the provider': urls.join('\n'),
    'the database': rows,
    Redis: await dumpRedis(),
  };
  t.true(visible.log.length > 1_000 && rows.length > 10_000 && visible.Redis.length > 10);
  const secrets = new Map<string, string>();
  for (const [name, base32] of Object.entries({ secret, 'unused secret': unused })) {
    const bytes = Buffer.from(Secret.fromBase32(base32).bytes);
    secrets.set(name, base32).set(`${name} in hex`, bytes.toString('hex'));
    secrets.set(`${name} in base64`, bytes.toString('base64'));
  }
  recoveryCodes.forEach((code, n) => {
    secrets.set(`recovery code ${n}`, code).set(`code ${n} bare`, code.replaceAll('-', ''));
  });
  [...tokens].filter((each) => each !== '').forEach((each, n) => secrets.set(`token ${n}`, each));
  t.true([...secrets.keys()].includes('token 0'));
  secrets.set('client secret', 'probatio-mfa-secret');
  for (const [where, text] of Object.entries(visible)) {
    for (const [name, value] of secrets) t.false(text.includes(value), `${name} is in ${where}`);
  }
});

/** Returns all keys and values of the Redis of the run, as text. */
async function dumpRedis(): Promise<string> {
  const redis = new Redis(testStack().redisUrl);
  try {
    const keys = await redis.keys('*');
    const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    return keys.map((key, n) => `${key} ${dumps[n]?.toString('latin1') ?? ''}`).join('\n');
  } finally {
    redis.disconnect();
  }
}
