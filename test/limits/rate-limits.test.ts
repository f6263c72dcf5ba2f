import { randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { limitNames } from '../../app/limits/rate-limits.ts';
import { startOwnRedis, type OwnRedis } from '../support/network/own-redis.ts';
import { admitted, refusal, someClientAddress, startReplica } from './replica.ts';

const tenAnHour = { count: 10, seconds: 3_600 };

let ownRedis: OwnRedis;
const endings: (() => unknown)[] = [];
test.before(async () => {
  ownRedis = await startOwnRedis({ teardown: (end) => void endings.push(end) });
});
test.after.always(async () => {
  for (const end of endings) await end();
});

test('exactly as many of 50 concurrent uses are admitted as the limit says', async (t) => {
  const { limits } = startReplica(t, ownRedis.url, tenAnHour);
  for (const name of limitNames) {
    t.is(await admitted(limits, name, someClientAddress(), 50), 10, name);
  }
});

test('a limit holds across two replicas', async (t) => {
  const one = startReplica(t, ownRedis.url, tenAnHour).limits;
  const other = startReplica(t, ownRedis.url, tenAnHour).limits;
  const key = randomUUID();
  const counts = await Promise.all([
    admitted(one, 'proof-account', key, 25),
    admitted(other, 'proof-account', key, 25),
  ]);
  t.is(counts[0] + counts[1], 10);
  t.truthy(await refusal(one.consume('proof-account', key)));
  t.truthy(await refusal(other.consume('proof-account', key)));
});

test('a check refuses what a use would be refused, and counts nothing', async (t) => {
  const { limits } = startReplica(t, ownRedis.url, { count: 1, seconds: 3_600 });
  const clientAddress = someClientAddress();
  const check = () => refusal(limits.assertLeft('register-address', clientAddress));
  for (let time = 0; time < 3; time += 1) t.is(await check(), undefined);
  await limits.consume('register-address', clientAddress);
  const { status, retryAfterSeconds = 0 } = (await check()) ?? t.fail();
  t.is(status, 429);
  t.true(retryAfterSeconds > 3_500 && retryAfterSeconds <= 3_600, String(retryAfterSeconds));
  await limits.giveBack('register-address', clientAddress);
  t.is(await check(), undefined);
});

test('limits and keys are counted separately', async (t) => {
  const { limits } = startReplica(t, ownRedis.url, tenAnHour);
  const key = randomUUID();
  t.is(await admitted(limits, 'proof-account', key, 11), 10);
  t.is(await admitted(limits, 'totp-account', key, 11), 10);
  t.is(await admitted(limits, 'proof-account', randomUUID(), 11), 10);
});

test('a refusal says in whole seconds when the window ends', async (t) => {
  const { limits } = startReplica(t, ownRedis.url, tenAnHour);
  const key = randomUUID();
  await admitted(limits, 'proof-account', key, 10);
  const { status, retryAfterSeconds = 0 } =
    (await refusal(limits.consume('proof-account', key))) ?? t.fail();
  t.is(status, 429);
  t.true(Number.isInteger(retryAfterSeconds));
  t.true(retryAfterSeconds > 3_500 && retryAfterSeconds <= 3_600, String(retryAfterSeconds));
});

test('after its window a limit is whole again, whatever was refused meanwhile', async (t) => {
  const { limits, redis } = startReplica(t, `${ownRedis.url}/1`, { count: 2, seconds: 60 });
  const clientAddress = someClientAddress();
  const refusedFor = async () =>
    (await refusal(limits.consume('challenge-address', clientAddress)))?.retryAfterSeconds ?? 0;
  t.is(await admitted(limits, 'challenge-address', clientAddress, 50), 2);
  const waits = [await refusedFor()];
  t.true(
    waits.every((seconds) => seconds > 30 && seconds <= 60),
    String(waits),
  );
  // Shortens the window to its last two seconds.
  const [key = ''] = await redis.keys('*');
  await redis.pexpire(key, 2_000);
  await until(
    async () => {
      waits.push(await refusedFor());
      return waits.at(-1) === 0;
    },
    { what: 'the window to end', timeoutMs: 60_000 },
  );
  t.deepEqual(
    waits,
    waits.toSorted((one, other) => other - one),
  );
  t.true(waits.slice(0, -1).every((seconds) => seconds >= 1));
  t.is(await admitted(limits, 'challenge-address', clientAddress, 50), 1);
});

test('a use that was given back can be used again, and no more than that', async (t) => {
  const { limits } = startReplica(t, ownRedis.url, tenAnHour);
  const key = randomUUID();
  t.is(await admitted(limits, 'proof-account', key, 50), 10, 'the 40 refused uses are not counted');
  await Promise.all([1, 2, 3].map(() => limits.giveBack('proof-account', key)));
  t.is(await admitted(limits, 'proof-account', key, 50), 3);

  const unused = randomUUID();
  for (let time = 0; time < 5; time += 1) await limits.giveBack('proof-account', unused);
  t.is(await admitted(limits, 'proof-account', unused, 50), 10);
  for (let time = 0; time < 20; time += 1) await limits.giveBack('proof-account', unused);
  t.is(await admitted(limits, 'proof-account', unused, 50), 10);
});

test('the addresses of an IPv6 /64 share a limit, in every spelling', async (t) => {
  const { limits } = startReplica(t, ownRedis.url, tenAnHour);
  t.is(await admitted(limits, 'register-address', '2001:db8:0:1::1', 4), 4);
  t.is(await admitted(limits, 'register-address', '2001:0DB8:0000:0001:ffff::2', 50), 6);
  t.is(await admitted(limits, 'register-address', '2001:db8:0:2::1', 50), 10);
  t.is(await admitted(limits, 'register-address', '::ffff:192.0.2.1', 4), 4);
  t.is(await admitted(limits, 'register-address', '192.0.2.1', 50), 6);
});

test('a limit that is off admits everything', async (t) => {
  const { limits } = startReplica(t, ownRedis.url, tenAnHour, { 'challenge-address': undefined });
  const clientAddress = someClientAddress();
  t.is(await admitted(limits, 'challenge-address', clientAddress, 50), 50);
  await limits.giveBack('challenge-address', clientAddress);
  t.is(
    await admitted(limits, 'register-address', clientAddress, 50),
    10,
    'other limits still hold',
  );
});

test('Redis stores no client or e-mail address in clear, and every key expires', async (t) => {
  // A database of its own keeps keys of other tests, which may expire meanwhile, out of the list.
  const { limits, redis } = startReplica(t, `${ownRedis.url}/2`, tenAnHour);
  const email = 'somebody.in-clear@mail.example';
  for (const clientAddress of ['203.0.113.77', '2001:db8:abcd:ef01::1']) {
    await limits.consume('register-address', clientAddress);
    await limits.consume('proof-address', clientAddress);
  }
  await limits.consume('register-email', email);
  await limits.giveBack('register-email', email);

  const keys = await redis.keys('*');
  t.true(keys.length >= 5);
  for (const key of keys) {
    t.regex(key, /^limit:[a-z]+(-[a-z]+)+:[\da-f]{32}$/);
    t.regex((await redis.get(key)) ?? '', /^\d+$/);
    t.true((await redis.pttl(key)) > 0, key);
  }
});
