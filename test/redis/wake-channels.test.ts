import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { connectRedis } from '../../app/redis/redis.ts';
import { openWakeChannels } from '../../app/redis/wake-channels.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { testStack } from '../support/vault/stack.ts';

/** Opens a channel as one process does. */
async function join(t: ExecutionContext, url = testStack().redisUrl) {
  const redis = connectRedis(url, createLog('silent'));
  const told: string[] = [];
  const state = { subscriptions: 0 };
  const wakes = openWakeChannels(redis);
  const channel = wakes.open('names', {
    onTold: (name) => told.push(name),
    onSubscribed: () => void (state.subscriptions += 1),
  });
  t.teardown(() => {
    wakes.close();
    redis.disconnect();
  });
  await until(() => state.subscriptions === 1, { what: 'a subscription', timeoutMs: 60_000 });
  return { wakes, channel, told, state, redis };
}

test('user ids reach the other processes in few messages, but not their own process', async (t) => {
  const [one, two] = [await join(t), await join(t)];
  let messages = 0;
  const listener = two.redis.duplicate();
  t.teardown(() => listener.disconnect());
  await listener.subscribe('names');
  const userIds: string[] = Array.from({ length: 1_000 }, () => randomUUID());
  listener.on('message', (_channel, text: string) => {
    if (userIds.some((userId) => text.includes(userId))) messages += 1;
  });
  for (const userId of [...userIds, ...userIds]) one.channel.tell(userId);
  const heard = () => new Set(two.told.filter((userId) => userIds.includes(userId)));
  await until(() => heard().size === 1_000, { what: 'all users', timeoutMs: 60_000 });
  t.true(messages <= 3, String(messages));
  t.false(one.told.some((userId) => userIds.includes(userId)));
});

test('a subscription that died silently is detected by a probe and replaced', async (t) => {
  const proxy = await startTcpProxy(testStack().redisUrl);
  t.teardown(() => proxy.close());
  const [one, two] = [await join(t), await join(t, proxy.url)];
  await two.wakes.probe();
  t.is(two.state.subscriptions, 1, 'a living subscription is left alone');
  proxy.stall();
  await two.wakes.probe();
  await until(() => two.state.subscriptions === 2, {
    what: 'another subscription',
    timeoutMs: 60_000,
  });
  const userId = randomUUID();
  one.channel.tell(userId);
  await until(() => two.told.includes(userId), { what: 'the message', timeoutMs: 60_000 });
  t.pass();
});

test('each channel of a process hears its own names only', async (t) => {
  const [one, two] = [await join(t), await join(t)];
  const others: string[] = [];
  const subscribed = Promise.withResolvers<void>();
  two.wakes.open('other names', {
    onTold: (name) => others.push(name),
    onSubscribed: subscribed.resolve,
  });
  await subscribed.promise;
  const [name, otherName] = [randomUUID(), randomUUID()];
  one.wakes.open('other names', { onTold: () => undefined }).tell(otherName);
  one.channel.tell(name);
  const found = () => others.includes(otherName) && two.told.includes(name);
  await until(found, { what: 'both names', timeoutMs: 60_000 });
  t.false(others.includes(name));
  t.false(two.told.includes(otherName));
});
