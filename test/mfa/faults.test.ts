import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { assertError } from '../support/http/error-body.ts';
import { breakWrites } from '../support/mfa/faulty-provider.ts';
import { startFaultyVault, timed, type FaultyVault } from '../support/mfa/faulty-vault.ts';
import { assertEnabled, codeOf, createMfaUser } from '../support/mfa/mfa-user.ts';

const unavailable = { status: 503, code: 'identity_provider_unavailable' };

async function startFaulty(t: ExecutionContext): Promise<FaultyVault> {
  const faulty = await startFaultyVault();
  t.teardown(() => faulty.stop());
  return faulty;
}

test('a write whose answer was cut off once is repeated within the request', async (t) => {
  const { vault, provider, factorsOf } = await startFaulty(t);
  const user = await createMfaUser(vault);
  const secret = await user.begin();
  let isFirst = true;
  provider.breakAs(({ method, url = '' }) => {
    if (method !== 'PUT' || !url.startsWith('/admin') || !isFirst) return undefined;
    isFirst = false;
    return 'cut';
  });
  t.is((await user.verify(codeOf(secret))).status, 200);
  t.false(isFirst);
  t.is((await factorsOf(user)).totps.length, 1);
  await assertEnabled(t, user);
});

test('after a write of unknown outcome no other write overtakes it', async (t) => {
  const { vault, provider, sql } = await startFaulty(t);
  const user = await createMfaUser(vault);
  await user.enable();
  breakWrites(provider, 'hang');
  assertError(t, await user.disable(), unavailable);
  provider.breakAs(() => undefined);
  assertError(t, await user.disable(), { status: 503, code: 'busy' });
  const [left] = await sql(
    'select extract(epoch from held_until - now())::float8 as seconds from mfa_users',
  );
  t.true(Number(left?.['seconds']) > 3, 'the lease is left to expire by itself');
});

test('a token that the provider has forgotten is asked for again', async (t) => {
  const { vault, provider } = await startFaulty(t);
  const user = await createMfaUser(vault);
  await user.enable();
  let refused = 0;
  provider.breakAs(({ url = '' }) => {
    if (!url.startsWith('/admin') || refused > 0) return undefined;
    refused += 1;
    return 401;
  });
  await assertEnabled(t, user);
  t.is(refused, 1);
});

test('while the provider fails, requests fail at once, and soon work again', async (t) => {
  const { vault, provider } = await startFaulty(t);
  const user = await createMfaUser(vault);
  await user.enable();
  provider.breakAs(() => 500);
  // An error that comes at once is as fast, so only the log tells that nobody asks any more.
  const isLogged = () =>
    vault.logLines.some((line) => line.includes('the identity provider fails'));
  await until(async () => (await timed(user.status()))[1] < 50 && isLogged(), {
    what: 'a status that does not wait for the provider',
    timeoutMs: 30_000,
  });
  provider.breakAs(() => undefined);
  await until(async () => (await user.status()).status === 200, {
    what: 'the provider to be asked again',
    timeoutMs: 30_000,
  });
  await assertEnabled(t, user);
});
