import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send } from '../../support/http/send.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';
import {
  change,
  codeOf,
  createDevice,
  createObject,
  createTwo,
} from '../../support/sync/devices.ts';
import { openFeed, untilChanges, untilReady, type FeedReader } from './feed-reader.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context = { vault: await startVault() };
});
test.after.always((t) => t.context.vault.stop());

test('a feed sends changes from its opening on, with cursors that a list accepts', async (t) => {
  const { vault } = t.context;
  const [device, other] = await createTwo(vault);
  await createObject(device, { before: true });
  const feed = await openFeed(t, vault, other);
  t.is(feed.status, 200);
  t.is(feed.headers.get('content-type'), 'text/event-stream');
  t.is(feed.headers.get('cache-control'), 'no-store');
  t.is(feed.headers.get('x-accel-buffering'), 'no');
  t.is(await untilReady(feed), 1);

  const id = await createObject(device, { secret: 'not in the feed' });
  await untilChanges(feed, 1);
  await other.write(change(id, 1, { a: 1 }));
  await untilChanges(feed, 2);
  await device.write({ objectId: id, version: 3, baseVersion: 2, deleted: true });
  t.deepEqual(await untilChanges(feed, 3), [
    { cursor: 2, objectId: id, version: 1, deleted: false, deviceId: device.deviceId },
    { cursor: 3, objectId: id, version: 2, deleted: false, deviceId: other.deviceId },
    { cursor: 4, objectId: id, version: 3, deleted: true, deviceId: device.deviceId },
  ]);
  const { body } = await device.get(`/v1/sync?since=2`);
  t.is(body['nextCursor'], '4');
  t.deepEqual(
    (body['objects'] as { objectId: string }[]).map(({ objectId }) => objectId),
    [id],
  );
});

test('a write that changes nothing is not in the feed', async (t) => {
  const { vault } = t.context;
  const [device, other] = await createTwo(vault);
  const id = await createObject(device, { a: 0 });
  const feed = await openFeed(t, vault, other);
  await untilReady(feed);
  await device.write(change(id, 1, { a: 1 }));
  t.is(codeOf(await device.write(change(id, 1, { a: 2 }))), '409 sync_conflict');
  t.is(codeOf(await device.create({ objectId: id, data: {} })), '409 object_exists');
  const last = await createObject(device, {});
  const heard = await untilChanges(feed, 2);
  t.deepEqual(
    heard.map(({ objectId, version }) => [objectId, version]),
    [
      [id, 2],
      [last, 1],
    ],
  );
});

test('a feed resumes after a given cursor, across pages, and misses nothing', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  for (let made = 0; made < 205; made += 41) {
    await Promise.all(Array.from({ length: 41 }, () => createObject(device, {})));
  }
  const { body } = await device.get('/v1/sync?limit=1000');
  const ids = (body['objects'] as { objectId: string }[]).map(({ objectId }) => objectId);
  const all = await openFeed(t, vault, device, { since: 0 });
  t.is(await untilReady(all), 0);
  const heard = await untilChanges(all, 205);
  t.deepEqual(
    heard.map(({ objectId }) => objectId),
    ids,
  );
  t.deepEqual(
    heard.map(({ cursor }) => cursor),
    ids.map((_id, index) => index + 1),
  );
  const rest = await openFeed(t, vault, device, { lastEventId: 203, since: 1 });
  t.is(await untilReady(rest), 203, 'the header takes precedence');
  const [next, last] = await untilChanges(rest, 2);
  t.deepEqual([next?.objectId, last?.objectId], ids.slice(203));
});

test('a cursor beyond the newest change (unreported restore) starts anew', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  const ids = [await createObject(device, {})];
  const feed = await openFeed(t, vault, device, { since: 999 });
  t.is(await untilReady(feed), 0);
  ids.push(await createObject(device, {}));
  t.deepEqual(
    (await untilChanges(feed, 2)).map(({ objectId }) => objectId),
    ids,
  );
});

test('a feed with a malformed cursor, or without its device, is refused like a list', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  const refused = { status: 400, code: 'validation_failed' };
  const other = '0123456789abcdef';
  for (const since of ['-1', 'x', '01', '1e3', '9999999999999999', '', other, `${other}.01`]) {
    const bySince = await openFeed(t, vault, device, { since });
    t.like({ status: bySince.status, code: bySince.body['code'] }, refused, `since ${since}`);
    const byId = await openFeed(t, vault, device, { lastEventId: since });
    t.like({ status: byId.status, code: byId.body['code'] }, refused, `Last-Event-ID ${since}`);
  }
  t.is(codeOf(await device.get('/v1/sync/events?other=1')), '400 validation_failed');
  t.is(codeOf(await device.api.send('GET', '/v1/sync/events')), '401 device_required');
  const stranger = { ...device, deviceId: randomUUID() };
  t.is((await openFeed(t, vault, stranger)).body['code'], 'device_unknown');
});

test('HEAD sends the headers only, other methods are refused, and Accept is ignored', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  const url = `${vault.baseUrl}/v1/sync/events`;
  const headers = { 'x-device-id': device.deviceId, accept: 'application/json' };
  const head = await send('HEAD', url, { token: device.api.token, headers });
  t.deepEqual(
    [head.status, head.headers.get('content-type'), head.text],
    [200, 'text/event-stream', ''],
  );
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const answer = await send(method, url, { token: device.api.token, headers });
    assertError(t, answer, { status: 405, code: 'method_not_allowed' });
  }
  const feed = await openFeed(t, vault, device);
  t.is(await untilReady(feed), 0);
});

test('a client that hangs up while its feed opens or is read frees its slot', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  for (let n = 0; n < 40; n += 1) await createObject(device, {});
  for (let delayMs = 0; delayMs < 40; delayMs += 1) {
    const hangUp = AbortSignal.timeout(delayMs);
    const headers = { authorization: `Bearer ${device.api.token}`, 'x-device-id': device.deviceId };
    const url = `${vault.baseUrl}/v1/sync/events?since=0`;
    await fetch(url, { headers, signal: hangUp })
      .then((response) => response.text())
      .catch(() => undefined);
  }
  const open: FeedReader[] = [];
  await until(
    async () => {
      const feed = await openFeed(t, vault, device);
      if (feed.status === 200) open.push(feed);
      return open.length === 10;
    },
    { what: 'ten free slots', timeoutMs: 60_000 },
  );
  t.is((await openFeed(t, vault, device)).body['code'], 'too_many_feeds');
});

test('a feed has no changes of another user, or of the same user in another tenant', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  const stranger = await createDevice(vault);
  const sameUser = await createDevice(vault, {
    userId: device.api.caller.userId,
    tenantId: 'other',
  });
  const [mine, theirs, elsewhere] = [
    await openFeed(t, vault, device, { since: 0 }),
    await openFeed(t, vault, stranger, { since: 0 }),
    await openFeed(t, vault, sameUser, { since: 0 }),
  ];
  for (let n = 0; n < 5; n += 1) await createObject(device, {});
  const id = await createObject(stranger, {});
  await untilChanges(mine, 5);
  const [heard] = await untilChanges(theirs, 1);
  t.is(heard?.objectId, id);
  t.is(theirs.changes().length, 1);
  t.is(await untilReady(elsewhere), 0);
  t.is(elsewhere.changes().length, 0);
});

test('readers that reconnect during 200 concurrent writes get all changes in order', async (t) => {
  const { vault } = t.context;
  const userId = randomUUID();
  const devices = await Promise.all(
    Array.from({ length: 4 }, () => createDevice(vault, { userId })),
  );
  const [first] = devices;
  if (first === undefined) throw new Error('no device was created');
  const ids = await Promise.all(Array.from({ length: 10 }, () => createObject(first, {})));
  const start = 10;

  const writing = Promise.all(
    devices.map(async (device, index) => {
      for (let n = 0; n < 50; n += 1) {
        const objectId = ids[(n * 7 + index) % ids.length] ?? '';
        // Each device changes fields of its own, so that every write merges.
        const answer = await device.write(change(objectId, 1, { [`${index}-${n}`]: n }));
        if (answer.status !== 200) throw new Error(codeOf(answer));
      }
    }),
  );
  const readers = devices.map(async (device, index) => {
    const heard = new Map<string, number>();
    const cursors: number[] = [start];
    for (let stays = 3 + index; cursors.at(-1) !== start + 200; stays += 1) {
      const from = cursors.at(-1) ?? start;
      const feed = await openFeed(t, vault, device, { lastEventId: from });
      t.is(await untilReady(feed), from);
      await until(
        () => feed.changes().length >= stays || feed.changes().at(-1)?.cursor === start + 200,
        { what: 'more changes', timeoutMs: 60_000 },
      );
      feed.leave();
      for (const { cursor, objectId, version } of feed.changes()) {
        cursors.push(cursor);
        heard.set(objectId, version);
      }
    }
    return { heard, cursors };
  });
  await writing;
  const { body } = await first.get('/v1/sync');
  const objects = body['objects'] as { objectId: string; version: number }[];
  const latest = Object.fromEntries(objects.map((o) => [o.objectId, o.version]));
  for (const { heard, cursors } of await Promise.all(readers)) {
    t.deepEqual(Object.fromEntries(heard), latest);
    t.true(cursors.every((cursor, at) => at === 0 || cursor > (cursors[at - 1] ?? Infinity)));
  }
});
