import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { hexToBytes } from '@noble/hashes/utils.js';
import { Redis } from 'ioredis';
import { wrapKey } from '../../app/envelopes/aes-kw.ts';
import {
  derivePasswordKey,
  masterEnvelopeLabel,
  srpAuthLabel,
} from '../../client/login/password.ts';
import { computeMultiplier, computeVerifier, computeX, serviceSrp } from '../../client/srp/srp.ts';
import { fingerprint } from '../../app/accounts/fingerprint.ts';
import { generator, prime, toBigInt } from '../../app/srp/group.ts';
import { power } from '../../app/srp/modular-power.ts';
import { until } from '../../app/dev/processes/until.ts';
import { dump } from '../support/accounts/purge-vault.ts';
import {
  createPasswordUser,
  reauthToken,
  type PasswordUser,
} from '../support/accounts/reauth-account.ts';
import { beginLogin, inventAccount, register } from '../support/accounts/test-account.ts';
import { postJson, send } from '../support/http/send.ts';
import { createSql } from '../support/vault/sql.ts';
import { testStack } from '../support/vault/stack.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { confirmations, type Stolen } from './guesses.ts';

const password = 'correct horse battery staple';
const others = ['incorrect horse battery staple', 'password'];
const exchanges = 40;

test('a dump of Postgres and Redis does not tell the right password from a wrong', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const user = await createPasswordUser(vault, password);
  await storeEnvelopes(t, vault, user);
  await leaveWaiting(t, vault, user);
  const B = [];
  for (let time = 0; time < exchanges; time += 1) B.push((await beginLogin(vault, user)).B);

  const stolen = await steal(vault, user, B);
  t.is(stolen.exchanges.length, exchanges);
  t.false(stolen.texts.some((text) => text.includes(user.saltHex)));
  t.deepEqual(await confirmations(stolen, password), []);
  for (const other of others) t.deepEqual(await confirmations(stolen, other), []);
});

test('the script that guesses finds the password in what is not encrypted', async (t) => {
  const { salt, saltHex } = inventAccount();
  const authKey = await derivePasswordKey(password, salt, srpAuthLabel);
  const verifier = computeVerifier(serviceSrp, computeX(serviceSrp, salt, authKey));
  const verifierHex = verifier.toString(16).padStart(768, '0');
  const wrapping = Buffer.from(await derivePasswordKey(password, salt, masterEnvelopeLabel));
  const wrapped = wrapKey(wrapping, randomBytes(32)).toString('base64');
  const exponents = Array.from({ length: exchanges }, () => randomBytes(32));
  const values = exponents.map((b) => power(generator, b));
  const kv = computeMultiplier(serviceSrp) * verifier;
  const stolen = {
    texts: [`(${verifierHex})`, fingerprint(saltHex, verifierHex), `{"wrapped":"${wrapped}"}`],
    exchanges: exponents.map((b, index) => ({
      B: (kv + toBigInt(values[index] ?? Buffer.of())) % prime,
      b: b.toString('base64'),
    })),
    salt,
  };
  t.deepEqual(await confirmations(stolen, password), [
    'the verifier',
    'the fingerprint',
    'the master envelope',
    'the secret exponent',
    'the kind of every B',
  ]);
  for (const other of others) t.deepEqual(await confirmations(stolen, other), []);
});

/** Stores a master envelope under the password, replaces it, and so keeps a former one. */
async function storeEnvelopes(t: ExecutionContext, vault: TestVault, user: PasswordUser) {
  const path = `${vault.baseUrl}/v1/crypto/keys/master-envelope`;
  const key = Buffer.from(await derivePasswordKey(password, user.salt, masterEnvelopeLabel));
  const wrap = () => ({ encryptedEnvelope: wrapKey(key, randomBytes(32)).toString('base64') });
  t.is((await postJson(path, wrap(), user.token)).status, 201);
  const headers = {
    'If-Match': '"1"',
    'X-Reauth-Token': await reauthToken(vault, user, user.token),
  };
  const next = wrap();
  const replaced = await send('PUT', path, { json: next, headers, token: user.token });
  t.is(replaced.status, 200);
  t.like(JSON.parse(replaced.text), next);
  const got = await send('GET', path, { token: user.token });
  t.like(JSON.parse(got.text), next);
}

/** Leaves a registration with the same password, its mail and a sign-up behind. */
async function leaveWaiting(t: ExecutionContext, vault: TestVault, user: PasswordUser) {
  const sql = createSql(vault);
  const waiting = (kind: string) => sql('select 1 from outbox where kind = $1', [kind]);
  // Messages that are added from here on stay in the outbox for ever.
  await sql(`create function delay() returns trigger language plpgsql as
    $$ begin new.available_at = 'infinity'; return new; end $$`);
  const delay = (kind: string) =>
    sql(`create trigger delay_${kind} before insert on outbox for each row
      when (new.kind = '${kind}') execute function delay()`);
  await delay('email');
  const pending = { ...user, email: `pending-${user.email}` };
  await register(vault, pending);
  await until(async () => (await waiting('email')).length === 1, {
    what: 'a registration and its mail',
    timeoutMs: 60_000,
  });
  await delay('registration');
  await register(vault, { ...user, email: `later-${user.email}` });
  t.is((await waiting('registration')).length, 1);
}

async function steal(vault: TestVault, user: PasswordUser, B: readonly string[]): Promise<Stolen> {
  const rows = await dump(createSql(vault));
  const redis = new Redis(testStack().redisUrl);
  try {
    const keys = await redis.keys('srp:session:*');
    const values = (await Promise.all(keys.map((key) => redis.get(key)))).filter(
      (value) => value !== null,
    );
    const sessions = values
      .map(
        (text) => JSON.parse(text) as Record<'accountId' | 'serverPublic' | 'privateKey', string>,
      )
      .filter(({ accountId }) => accountId === user.userId)
      .map((session) => ({ B: BigInt(`0x${session.serverPublic}`), b: session.privateKey }));
    const ours = new Set(B.map((hex) => BigInt(`0x${hex}`)));
    return {
      texts: [...rows.values(), ...values],
      exchanges: sessions.filter((session) => ours.has(session.B)),
      salt: hexToBytes(user.saltHex),
    };
  } finally {
    redis.disconnect();
  }
}
