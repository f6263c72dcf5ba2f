import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { Redis } from 'ioredis';
import { until } from '../../../app/dev/processes/until.ts';
import { startOwnRedis } from '../../support/network/own-redis.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { startReadyVault, startVault, type TestVault } from '../../support/vault/vault.ts';
import { testStack } from '../../support/vault/stack.ts';
import { codeOf, createDevice, createObject, createTwo } from '../../support/sync/devices.ts';
import { openFeed, untilChanges, untilReady, type FeedReader } from './feed-reader.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context = { vault: await startReadyVault() };
});
test.after.always((t) => t.context.vault.stop());

/** Returns whether a change arrives sooner than a feed finds it without Redis. */
async function isToldSoon(feed: FeedReader, write: () => Promise<unknown>): Promise<boolean> {
  const count = feed.changes().length;
  await write();
  return until(() => feed.changes().length > count, { what: 'the change', timeoutMs: 60_000 }).then(
    () => true,
    () => false,
  );
}

test('replicas share changes and a limit of ten feeds, which a dead one releases', async (t) => {
  const { vault } = t.context;
  const replica = await startReplica(vault);
  t.teardown(() => replica.process.stop());
  const [device, other] = await createTwo(vault);
  const here = await openFeed(t, vault, device);
  const there = await openFeed(t, replica, other);
  await Promise.all([untilReady(here), untilReady(there)]);
  for (let n = 0; n < 3; n += 1) {
    t.true(await isToldSoon(there, () => createObject(device, {})));
  }
  await untilChanges(here, 3);
  const objectId = randomUUID();
  const elsewhere = await fetch(`${replica.baseUrl}/v1/sync/create`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${other.api.token}`,
      'content-type': 'application/json',
      'x-device-id': other.deviceId,
      'x-schema-version': '1',
    },
    body: JSON.stringify({ objectId, data: {} }),
  });
  t.is(elsewhere.status, 201);
  t.is((await untilChanges(here, 4)).at(-1)?.objectId, objectId);
  t.is((await untilChanges(there, 4)).at(-1)?.objectId, objectId);

  // Eight of fourteen concurrent attempts fit beside the two open feeds.
  const tried = await Promise.all(
    Array.from({ length: 14 }, (_, n) => openFeed(t, n % 2 === 0 ? vault : replica, device)),
  );
  const refused = tried.filter(({ status }) => status !== 200);
  t.is(refused.length, 6);
  for (const { status, headers, body } of refused) {
    t.deepEqual([status, body['code']], [429, 'too_many_feeds']);
    t.is(headers.get('retry-after'), '30');
  }
  const stranger = await openFeed(t, replica, await createDevice(vault));
  t.is(stranger.status, 200, 'the limit of another user is separate');

  replica.process.kill('SIGKILL');
  await replica.process.exited;
  const freed = tried.filter(({ status }, n) => status === 200 && n % 2 === 1).length + 1;
  const open: FeedReader[] = [];
  await until(
    async () => {
      const feed = await openFeed(t, vault, device);
      if (feed.status === 200) open.push(feed);
      return open.length === freed;
    },
    { what: 'the slots of the dead process', timeoutMs: 60_000, intervalMs: 500 },
  );
  t.is((await openFeed(t, vault, device)).status, 429);
});

test('a feed that ends frees its slot at once', async (t) => {
  // A vault of its own has no feeds of other tests to be counted.
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const device = await createDevice(vault);
  const feeds: FeedReader[] = [];
  for (let n = 0; n < 10; n += 1) feeds.push(await openFeed(t, vault, device));
  t.is((await openFeed(t, vault, device)).status, 429);
  const [first] = feeds;
  first?.leave();
  const next = await until(
    async () => {
      const feed = await openFeed(t, vault, device);
      return feed.status === 200 && feed;
    },
    { what: 'a free slot', timeoutMs: 60_000 },
  );
  await untilReady(next);
  for (const feed of [...feeds, next]) feed.leave();
  const redis = new Redis(testStack().redisUrl);
  t.teardown(() => redis.disconnect());
  await until(async () => (await redis.exists(`sync-feeds:${device.api.caller.userId}`)) === 0, {
    what: 'the slots to be free',
    timeoutMs: 60_000,
  });
  const isEmpty = () => vault.services.changeFeeds.count() === 0;
  await until(isEmpty, { what: 'the feeds to end', timeoutMs: 60_000 });
});

test('without Redis writes and feeds go on; SIGTERM ends the feeds', async (t) => {
  const redis = await startOwnRedis(t);
  const vault = await startVault({ REDIS_URL: redis.url });
  t.teardown(() => vault.stop());
  // Without Redis this process learns of the other's writes only by polling.
  const replica = await startReplica(vault, { REDIS_URL: redis.url });
  t.teardown(() => replica.process.stop());
  const [device, other] = await createTwo(vault);
  const here = await openFeed(t, vault, device);
  const there = await openFeed(t, replica, other);
  await Promise.all([untilReady(here), untilReady(there)]);

  await redis.kill();
  const missed = await createObject(device, {});
  t.is(
    (await untilChanges(here, 1))[0]?.objectId,
    missed,
    'its own process notifies it without Redis',
  );
  t.is(
    (await untilChanges(there, 1))[0]?.objectId,
    missed,
    'the other process finds it by polling',
  );
  const tried = await Promise.all(Array.from({ length: 12 }, () => openFeed(t, vault, device)));
  t.is(tried.filter(({ status }) => status === 200).length, 9);
  const third = await createDevice(vault, { userId: device.api.caller.userId });
  t.is((await openFeed(t, replica, third)).status, 200, 'the other process counts its own feeds');

  await createObject(device, {});
  await redis.restart();
  await untilChanges(there, 2);
  await until(() => isToldSoon(there, () => createObject(device, {})), {
    what: 'Redis to notify again',
    timeoutMs: 60_000,
  });
  t.is((await openFeed(t, vault, device)).status, 429);

  replica.process.kill('SIGTERM');
  t.is(await there.closed, 'shutting_down');
  t.deepEqual(await replica.process.exited, { code: 0, signal: null });
});

test('a Redis that hangs delays no write', async (t) => {
  const redis = await startOwnRedis(t);
  const vault = await startVault({ REDIS_URL: redis.url });
  t.teardown(() => vault.stop());
  const device = await createDevice(vault);
  const feed = await openFeed(t, vault, device);
  await untilReady(feed);
  redis.hang();
  t.teardown(() => redis.resume());
  const write = () => device.create({ objectId: randomUUID(), data: {} });
  const answers = await Promise.all(Array.from({ length: 50 }, write));
  t.deepEqual([...new Set(answers.map((answer) => codeOf(answer)))], ['201 undefined']);
  await untilChanges(feed, 50);
  redis.resume();
  const next = await openFeed(t, vault, device);
  t.is(next.status, 200);
});
