import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openSealedNews, type SealWatch } from '../../../app/audit/sealing/sealed-news.ts';
import { connectRedis } from '../../../app/redis/redis.ts';
import { openWakeChannels } from '../../../app/redis/wake-channels.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { testStack } from '../../support/vault/stack.ts';

const longMs = 60_000;

/** Opens the news as one process does. */
function join(t: ExecutionContext) {
  const redis = connectRedis(testStack().redisUrl, createLog('silent'));
  const wakes = openWakeChannels(redis);
  t.teardown(() => {
    wakes.close();
    redis.disconnect();
  });
  return openSealedNews(wakes);
}

/** Returns the milliseconds until a watch has heard of its seal. */
async function heardAfter(watch: SealWatch, ms: number): Promise<number> {
  const startedAt = performance.now();
  await watch.sealed(ms);
  return performance.now() - startedAt;
}

test('all who wait for an entry in this process hear of its seal, and nobody else', async (t) => {
  const news = join(t);
  const [sealed, other] = [randomUUID(), randomUUID()];
  using first = news.watch(sealed);
  using second = news.watch(sealed);
  using third = news.watch(other);
  const heard = Promise.all([heardAfter(first, longMs), heardAfter(second, longMs)]);
  const unheard = heardAfter(third, 200);
  news.tell([sealed]);
  t.true((await heard).every((ms) => ms < longMs / 2));
  t.true((await unheard) >= 190);
});

test('a seal between two waits of a watch ends the second at once', async (t) => {
  const news = join(t);
  const id = randomUUID();
  using watch = news.watch(id);
  t.true((await heardAfter(watch, 50)) >= 45);
  news.tell([id]);
  t.true((await heardAfter(watch, longMs)) < longMs / 2);
});

test('after a watch is disposed of, others still hear', async (t) => {
  const news = join(t);
  const id = randomUUID();
  using watch = news.watch(id);
  news.watch(id)[Symbol.dispose]();
  news.tell([id]);
  t.true((await heardAfter(watch, longMs)) < longMs / 2);
});

test('another process hears of a seal', async (t) => {
  const [one, two] = [join(t), join(t)];
  const id = randomUUID();
  using watch = two.watch(id);
  // It hears nothing before it has subscribed.
  const telling = setInterval(() => one.tell([id]), 50);
  t.teardown(() => clearInterval(telling));
  t.true((await heardAfter(watch, longMs)) < longMs / 2);
});
