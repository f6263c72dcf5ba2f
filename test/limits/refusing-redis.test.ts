import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { Redis } from 'ioredis';
import { until } from '../../app/dev/processes/until.ts';
import { createAccount } from '../support/accounts/test-account.ts';
import { assertError } from '../support/http/error-body.ts';
import { getJson, postJson } from '../support/http/send.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { startOwnRedis } from '../support/network/own-redis.ts';
import { startReplica } from './replica.ts';

/** Makes a Redis that responds, but refuses writes; with the class that `/health` tells. */
const refusals: [string, (redis: Redis) => Promise<unknown>, string][] = [
  ['is full', (redis) => redis.config('SET', 'maxmemory', '1mb'), 'full'],
  ['became a replica', (redis) => redis.replicaof('127.0.0.1', '1'), 'unavailable'],
];

async function start(t: ExecutionContext) {
  const { url } = await startOwnRedis(t);
  return { url, admin: startReplica(t, url, undefined).redis };
}

for (const [what, refuse, error] of refusals) {
  test(`a Redis that ${what} counts as unavailable for limits, and is logged once`, async (t) => {
    const { url, admin } = await start(t);
    const { limits, logLines } = startReplica(t, url, { count: 1_000, seconds: 3_600 });
    await limits.consume('proof-account', randomUUID());
    await refuse(admin);
    const end = performance.now() + 4_000;
    await until(
      async () => {
        await limits.consume('proof-account', randomUUID());
        return performance.now() > end;
      },
      { what: 'some seconds to pass', timeoutMs: 60_000 },
    );
    const told = logLines.filter((line) => line.includes('rate limits are counted'));
    t.is(told.length, 1, told.join('\n'));
  });

  test(`a Redis that ${what} makes the vault degraded, since nobody can log in`, async (t) => {
    const { url, admin } = await start(t);
    const vault = await startReadyVault({ REDIS_URL: url });
    t.teardown(() => vault.stop());
    const { email } = await createAccount(vault);
    await refuse(admin);
    const challenge = { email, A: '2222' };
    const answer = await postJson(`${vault.baseUrl}/v1/auth/login/challenge`, challenge);
    assertError(t, answer, { status: 503, code: 'cache_unavailable' });
    const cache = await until(
      async () => {
        const { body } = await getJson(`${vault.baseUrl}/health`);
        const { checks } = body as { checks: { cache: { status: string } } };
        return checks.cache.status !== 'ok' && checks.cache;
      },
      { what: 'the check', timeoutMs: 60_000 },
    );
    t.like(cache, { status: 'error', error });
  });
}

test('a connection to a Redis that became a replica is replaced', async (t) => {
  const { url, admin } = await start(t);
  const { redis } = startReplica(t, url, undefined);
  const before = await redis.client('ID');
  await admin.replicaof('127.0.0.1', '1');
  await t.throwsAsync(redis.set('key', 'value'), { message: /READONLY/ });
  await until(async () => (await redis.client('ID').catch(() => before)) !== before, {
    what: 'another connection',
    timeoutMs: 60_000,
  });
  await admin.replicaof('NO', 'ONE');
  await t.notThrowsAsync(redis.set('key', 'value'));
});
