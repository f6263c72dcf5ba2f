import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import { createFeed } from '../../../app/sync/feed/feed.ts';
import type { Cursor } from '../../../app/sync/objects/cursor.ts';
import { pageSize, type FeedPage } from '../../../app/sync/feed/changes.ts';
import type { Change } from '../../../app/sync/feed/events.ts';

const epoch = '';

function changeAt(cursor: Cursor): Change {
  const objectId = '00000000-0000-4000-8000-000000000000';
  return { cursor, objectId, version: 1, deleted: false, deviceId: objectId };
}

interface Opened {
  readonly readAfter?: (cursor: Cursor) => Promise<FeedPage>;
  readonly heartbeatMs?: number;
}

/** Opens a feed over as many changes as `state.newest` says. */
function openFeed({ readAfter, ...options }: Opened = {}) {
  const gone = new AbortController();
  const state = { newest: 0, reads: 0, readsAtOnce: 0, mostAtOnce: 0, cuts: 0 };
  async function read(start: Cursor): Promise<FeedPage> {
    state.reads += 1;
    state.readsAtOnce += 1;
    state.mostAtOnce = Math.max(state.mostAtOnce, state.readsAtOnce);
    const { newest } = state;
    await new Promise((resolve) => setImmediate(resolve));
    state.readsAtOnce -= 1;
    const length = Math.min(newest - start.change, pageSize);
    const changes = Array.from({ length }, (_, index) =>
      changeAt({ epoch, change: start.change + index + 1 }),
    );
    return { start, changes };
  }
  const feed = createFeed({
    ...options,
    cursor: { epoch, change: 0 },
    listener: { gone: gone.signal, cut: () => void (state.cuts += 1) },
    readAfter: readAfter ?? read,
    explain: () => 'database_unavailable',
  });
  return { feed, gone, state };
}

/** Collects the texts that a feed sends. */
function listenTo(events: AsyncIterable<string>) {
  const heard: string[] = [];
  const ended = (async () => {
    for await (const text of events) heard.push(text);
  })();
  return { heard, ended, ids: () => heard.join('').match(/(?<=^id: )\d+/gm) ?? [] };
}

test('many wake-ups cause few reads, one at a time, and nothing is missed', async (t) => {
  const { feed, gone, state } = openFeed();
  const { ids, ended } = listenTo(feed.events);
  for (let n = 1; n <= 1_000; n += 1) {
    state.newest = n;
    feed.wake();
    if (n % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => ids().length === 1_001, { what: 'all changes', timeoutMs: 60_000 });
  t.deepEqual(
    ids(),
    Array.from({ length: 1_001 }, (_, index) => String(index)),
  );
  t.is(state.mostAtOnce, 1);
  t.true(state.reads < 50, String(state.reads));
  gone.abort();
  await ended;
});

test('a feed that ends sends one reason, and is cut only if nobody reads it', async (t) => {
  const reading = openFeed();
  const { heard, ended } = listenTo(reading.feed.events);
  await until(() => heard.length === 1, { what: 'ready', timeoutMs: 60_000 });
  reading.feed.end('token_expired');
  reading.feed.end('shutting_down');
  await ended;
  t.deepEqual(heard.slice(1), ['event: close\ndata: {"reason":"token_expired"}\n\n']);
  reading.gone.abort();

  const stuck = openFeed();
  stuck.feed.end('invalid_token');
  await until(() => stuck.state.cuts === 1, { what: 'the feed to be cut', timeoutMs: 60_000 });
  t.is(reading.state.cuts, 0);
});

test('a quiet feed sends a comment regularly, and reads nothing for it', async (t) => {
  const { feed, gone, state } = openFeed({ heartbeatMs: 300 });
  const { heard, ended } = listenTo(feed.events);
  await until(() => heard.length === 4, { what: 'three heartbeats', timeoutMs: 60_000 });
  t.deepEqual(heard.slice(1), Array(3).fill(':\n\n'));
  t.is(state.reads, 1);
  gone.abort();
  await ended;
});

test('a feed that cannot be read ends with the reason', async (t) => {
  const { feed } = openFeed({
    readAfter: async () => {
      throw new AppError('database_unavailable');
    },
  });
  const { heard, ended } = listenTo(feed.events);
  await ended;
  t.is(heard.at(-1), 'event: close\ndata: {"reason":"database_unavailable"}\n\n');
});

test('a listener that leaves during a read or a pause ends the feed silently', async (t) => {
  const read = Promise.withResolvers<FeedPage>();
  const reading = openFeed({ readAfter: () => read.promise });
  const one = listenTo(reading.feed.events);
  await until(() => one.heard.length === 1, { what: 'ready', timeoutMs: 60_000 });
  reading.gone.abort();
  read.resolve({ start: { epoch, change: 0 }, changes: [] });
  await one.ended;
  t.is(one.heard.length, 1);

  const resting = openFeed();
  const two = listenTo(resting.feed.events);
  await until(() => resting.state.reads === 1, { what: 'the first read', timeoutMs: 60_000 });
  resting.gone.abort();
  await two.ended;
  t.is(two.heard.length, 1);
});
