import test from 'ava';
import { assertError } from '../support/http/error-body.ts';
import { createMfaUser, codeOf, mfaActions, wrongCode } from '../support/mfa/mfa-user.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { createSql } from '../support/vault/sql.ts';
import { testStack } from '../support/vault/stack.ts';
import { startReadyVault } from '../support/vault/vault.ts';

const invalidCode = { status: 400, code: 'invalid_code' };
const invalid = { status: 400, code: 'validation_failed' };
const limited = { status: 429, code: 'rate_limited' };

test('five wrong codes lock an account; malformed ones do not count', async (t) => {
  const vault = await startReadyVault({ LIMITS_TOTP_ACCOUNT: '5/10m' });
  t.teardown(() => vault.stop());
  const user = await createMfaUser(vault);
  const other = await createMfaUser(vault);
  const secret = await user.begin();
  for (let n = 0; n < 4; n += 1) {
    assertError(t, await user.verify(wrongCode(secret)), invalidCode);
    assertError(t, await user.verify('abcde'), invalid);
  }
  const answers = await Promise.all([1, 2, 3].map(() => user.verify(wrongCode(secret))));
  const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
  t.deepEqual(statuses, [400, 429, 429], 'parallel codes do not pass the limit');
  assertError(t, await user.verify(codeOf(secret)), limited);
  const again = await user.begin();
  assertError(t, await user.verify(codeOf(again)), limited, 'a new set-up gives no new tries');
  assertError(t, await user.verify('abcde'), invalid);
  await other.enable();

  await vault.services.tallies.stop();
  const rows = await createSql(vault)(
    "select user_id, count::int, detail from audit_tallies where action = 'mfa.failed'",
  );
  t.is(rows.length, 1);
  t.like(rows[0], { user_id: user.userId, count: 5 });
  t.deepEqual(await mfaActions(vault, user.userId), ['mfa.started', 'mfa.started']);
});

test('right codes do not use up the limit', async (t) => {
  const vault = await startReadyVault({ LIMITS_TOTP_ACCOUNT: '1/10m' });
  t.teardown(() => vault.stop());
  const user = await createMfaUser(vault);
  for (let n = 0; n < 3; n += 1) {
    await user.enable();
    await user.disable();
  }
  const secret = await user.begin();
  assertError(t, await user.verify(wrongCode(secret)), invalidCode);
  assertError(t, await user.verify(wrongCode(secret)), limited);
});

test('wrong codes are limited while Redis is away', async (t) => {
  const redis = await startTcpProxy(testStack().redisUrl);
  t.teardown(() => redis.close());
  const vault = await startReadyVault({ REDIS_URL: redis.url, LIMITS_TOTP_ACCOUNT: '5/10m' });
  t.teardown(() => vault.stop());
  const user = await createMfaUser(vault);
  const secret = await user.begin();
  await redis.close();
  const statuses: number[] = [];
  for (let n = 0; n < 6; n += 1) statuses.push((await user.verify(wrongCode(secret))).status);
  t.true(statuses.includes(400), statuses.join());
  t.is(statuses.at(-1), 429, statuses.join());
});
