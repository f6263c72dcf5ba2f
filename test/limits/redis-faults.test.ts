import { randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { infoField } from '../../app/health/cache.ts';
import { startOwnRedis } from '../support/network/own-redis.ts';
import { admitted, refusal, startReplica, type Replica } from './replica.ts';

const tenAnHour = { count: 10, seconds: 3_600 };

/** Returns how many scripts Redis has run so far, for any connection. */
async function timesAsked({ redis }: Replica): Promise<number> {
  const stats = await redis.info('commandstats');
  return ['cmdstat_eval', 'cmdstat_evalsha']
    .map((name) => /calls=(\d+)/.exec(infoField(stats, name) ?? '')?.[1])
    .reduce((sum, calls) => sum + Number(calls ?? 0), 0);
}

/** Resolves with the number of scripts run once Redis responds. */
const untilAsked = (replica: Replica) =>
  until(() => timesAsked(replica).catch(() => undefined), {
    what: 'a response of Redis',
    timeoutMs: 60_000,
  });

/** Resolves once uses are counted in Redis. */
async function untilShared(replica: Replica): Promise<void> {
  await until(
    async () => {
      const key = randomUUID();
      await replica.limits.consume('totp-account', key);
      return replica.logLines.at(-1)?.includes('counted in Redis again');
    },
    { what: 'counts in Redis', timeoutMs: 60_000 },
  );
}

test('without Redis half of each limit holds; once it is back, Redis counts again', async (t) => {
  const ownRedis = await startOwnRedis(t);
  const replica = startReplica(t, ownRedis.url, tenAnHour, {
    'register-email': { count: 3, seconds: 3_600 },
    'register-address': { count: 1, seconds: 3_600 },
  });
  const { limits, redis } = replica;
  const key = randomUUID();
  t.is(await admitted(limits, 'proof-account', key, 50), 10);

  await ownRedis.kill();
  t.is(await admitted(limits, 'challenge-address', key, 50), 5);
  t.is(await admitted(limits, 'register-email', key, 50), 1, 'half of 3');
  t.is(await admitted(limits, 'register-address', key, 50), 1, 'at least one');
  const { retryAfterSeconds = 0 } =
    (await refusal(limits.consume('register-email', key))) ?? t.fail();
  t.true(retryAfterSeconds > 3_500 && retryAfterSeconds <= 3_600);
  t.is(replica.logLines.filter((line) => line.includes('counted in memory')).length, 1);

  await ownRedis.restart();
  await untilShared(replica);
  await redis.flushall();
  t.is(await admitted(limits, 'challenge-address', key, 50), 10);
  const other = startReplica(t, ownRedis.url, tenAnHour);
  t.is(
    await admitted(other.limits, 'challenge-address', key, 50),
    0,
    'Redis counts for all replicas',
  );
});

test('without Redis, too, a use that was given back can be used again, and no more', async (t) => {
  const ownRedis = await startOwnRedis(t);
  const { limits } = startReplica(t, ownRedis.url, tenAnHour);
  await ownRedis.kill();
  // Fixed keys, since random ones share a counter now and then.
  const [key, unused] = ['somebody', 'somebody else'];
  t.is(await admitted(limits, 'proof-account', key, 50), 5);
  await Promise.all([1, 2].map(() => limits.giveBack('proof-account', key)));
  t.is(await admitted(limits, 'proof-account', key, 50), 2);
  await Promise.all([1, 2, 3].map(() => limits.giveBack('proof-account', unused)));
  t.is(await admitted(limits, 'proof-account', unused, 50), 5);
});

test('a window ends without Redis too', async (t) => {
  const ownRedis = await startOwnRedis(t);
  const { limits } = startReplica(t, ownRedis.url, { count: 4, seconds: 2 });
  await ownRedis.kill();
  const key = randomUUID();
  t.is(await admitted(limits, 'proof-account', key, 50), 2);
  t.truthy(await refusal(limits.consume('proof-account', key)));
  await until(async () => (await refusal(limits.consume('proof-account', key))) === undefined, {
    what: 'the window to end',
    timeoutMs: 60_000,
  });
  t.pass();
});

test('a hanging Redis is not asked by each request, and the stricter limit holds', async (t) => {
  const ownRedis = await startOwnRedis(t);
  const replica = startReplica(t, ownRedis.url, tenAnHour);
  const { limits } = replica;
  await limits.consume('totp-account', randomUUID());
  const before = await untilAsked(replica);

  ownRedis.hang();
  const key = randomUUID();
  t.is(await admitted(limits, 'proof-account', key, 1), 1);
  t.is(await admitted(limits, 'proof-account', key, 50), 4);
  for (let user = 0; user < 100; user += 1) await limits.consume('totp-account', randomUUID());

  ownRedis.resume();
  const after = await untilAsked(replica);
  t.is(after - before, 1, 'only the use that detected it');
  await untilShared(replica);
  t.is(await admitted(limits, 'proof-account', key, 50), 9, 'the use that detected it counts');
});

test('the memory for counting without Redis is bounded', async (t) => {
  const ownRedis = await startOwnRedis(t);
  const { limits } = startReplica(t, ownRedis.url, { count: 1, seconds: 3_600 });
  await ownRedis.kill();
  let counts = 0;
  for (let user = 0; user < 80_000; user += 1) {
    const refused = await refusal(limits.consume('proof-account', String(user)));
    if (refused === undefined) counts += 1;
  }
  t.true(counts <= 2 ** 16, String(counts));
  t.true(counts > 40_000, String(counts));
});
