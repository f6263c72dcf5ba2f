import { randomBytes, randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { ClientError } from '../../../client/errors/client-error.ts';
import type { Http } from '../../../client/http/http.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import type { VaultSession } from '../../../client/session.ts';
import {
  syncEvents,
  type SyncEvent,
  type SyncEventsOptions,
} from '../../../client/sync/exchange/events.ts';
import { VaultError } from '../../../client/errors/vault-error.ts';
import { trustKey, type TrustedKey } from '../../support/accounts/trusted-key.ts';
import { agingTokens } from '../../support/client/aging-tokens.ts';
import { connect, createUser } from '../../support/client/user.ts';
import { startTcpProxy } from '../../support/network/tcp-proxy.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

const test = anyTest as TestFn<{ vault: TestVault; key: TrustedKey }>;

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, key: await trustKey(vault) };
});
test.after.always((t) => t.context.vault.stop());

const retry = { ...defaultRetry, attempts: 3, baseDelaySeconds: 0.05, maxDelaySeconds: 60 };

/** Creates a user with a device, whose requests go through a proxy that can break them. */
async function createListener(t: ExecutionContext<{ vault: TestVault; key: TrustedKey }>) {
  const { vault, key } = t.context;
  const proxy = await startTcpProxy(vault.baseUrl);
  t.teardown(() => proxy.close());
  const tokens = agingTokens(key);
  const client = connect({ ...vault, baseUrl: proxy.url }, tokens.fetch, { retry });
  const { session } = await createUser(vault, client);
  const deviceId = randomUUID();
  const encryptedEnvelope = randomBytes(40).toString('base64');
  await session.http.send({
    method: 'POST',
    path: '/v1/crypto/keys/device-envelope',
    json: { deviceId, encryptedEnvelope },
  });
  return { session, deviceId, proxy, tokens };
}

/** Creates an object and returns its id. */
async function create({ http }: VaultSession, deviceId: string): Promise<string> {
  const objectId = randomUUID();
  await http.send({
    method: 'POST',
    path: '/v1/sync/create',
    headers: { 'x-device-id': deviceId, 'x-schema-version': '1' },
    json: { objectId, data: {} },
    repeatable: true,
  });
  return objectId;
}

function listen(t: ExecutionContext, session: VaultSession, options: SyncEventsOptions) {
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const heard: SyncEvent[] = [];
  const ended = (async () => {
    for await (const event of session.syncEvents({ signal: leaving.signal, ...options })) {
      heard.push(event);
    }
    return undefined;
  })().catch((error: unknown) => error);
  const changes = () => heard.flatMap((event) => (event.type === 'change' ? [event] : []));
  const untilHeard = (count: number) =>
    until(() => heard.length >= count, { what: `${count} events`, timeoutMs: 60_000 });
  return { heard, changes, untilHeard, ended, leave: () => leaving.abort() };
}

test('the client gets every change once, also those made while it was disconnected', async (t) => {
  const { session, deviceId, proxy, tokens } = await createListener(t);
  const { heard, changes, untilHeard, ended, leave } = listen(t, session, { deviceId });
  await untilHeard(1);
  t.deepEqual(heard, [{ type: 'ready', cursor: '0' }]);
  const ids = [await create(session, deviceId)];
  await untilHeard(2);
  for (let round = 0; round < 3; round += 1) {
    await proxy.close();
    tokens.expireAll();
    await proxy.open();
    ids.push(await create(session, deviceId), await create(session, deviceId));
    await until(() => changes().length === ids.length, { what: 'changes', timeoutMs: 60_000 });
  }
  t.deepEqual(
    changes().map(({ objectId }) => objectId),
    ids,
  );
  t.deepEqual(
    changes().map(({ cursor }) => cursor),
    ids.map((_id, index) => String(index + 1)),
  );
  t.like(changes()[0], { version: 1, deleted: false, deviceId });
  leave();
  t.is(await ended, undefined, 'an abort is not an error');

  const later = listen(t, session, { deviceId, since: '5' });
  await later.untilHeard(3);
  t.deepEqual(
    later.changes().map(({ objectId }) => objectId),
    ids.slice(5),
  );
});

test.serial('a caller that stops iterating closes the connection', async (t) => {
  const { vault } = t.context;
  const { session, deviceId } = await createListener(t);
  for await (const event of session.syncEvents({ deviceId })) {
    t.is(event.type, 'ready');
    break;
  }
  const isOver = () => vault.services.changeFeeds.count() === 0;
  await until(isOver, { what: 'the feed to end', timeoutMs: 60_000 });
});

test('a final refusal is thrown: unknown device, ended session, or too many feeds', async (t) => {
  const { session, deviceId } = await createListener(t);
  const stranger = listen(t, session, { deviceId: randomUUID() });
  t.like(await stranger.ended, { status: 403, code: 'device_unknown' });
  const bad = listen(t, session, { deviceId, since: 'jam' });
  t.like(await bad.ended, { status: 400, code: 'validation_failed' });

  const feeds = Array.from({ length: 10 }, () => listen(t, session, { deviceId }));
  await Promise.all(feeds.map(({ untilHeard }) => untilHeard(1)));
  const impatient = { ...retry, sleep: async () => undefined };
  const eleventh = syncEvents({ http: session.http, retry: impatient }, { deviceId }).next();
  const refused = await t.throwsAsync(eleventh, { instanceOf: VaultError });
  t.is(refused?.code, 'too_many_feeds');

  await session.logout();
  for (const { ended } of feeds) {
    const error = await ended;
    t.true(error instanceof ClientError && error.code === 'session_ended', String(error));
  }
});

test('a feed that fails at the vault is opened again', async (t) => {
  const { session, deviceId } = await createListener(t);
  let failures = 0;
  const failing: Http = {
    ...session.http,
    open: (request) => {
      failures += 1;
      if (failures > 3) return session.http.open(request);
      return Promise.reject(new VaultError(500, new Headers(), {}, new Date()));
    },
  };
  const calm = { ...retry, sleep: async () => undefined };
  const events = syncEvents({ http: failing, retry: calm }, { deviceId });
  t.like(await events.next(), { value: { type: 'ready' } });
  t.is(failures, 4);
  await events.return();
});

test('a vault that stays unreachable is retried until the caller aborts', async (t) => {
  const { session, deviceId, proxy } = await createListener(t);
  const { untilHeard, ended, leave } = listen(t, session, { deviceId });
  await untilHeard(1);
  await proxy.close();
  const waits: number[] = [];
  const giveUp = new AbortController();
  const sleep = async (seconds: number) => {
    waits.push(seconds);
    if (waits.length === 30) giveUp.abort();
  };
  const options = { deviceId, signal: giveUp.signal };
  const away = syncEvents({ http: session.http, retry: { ...retry, sleep } }, options);
  t.true((await away.next()).done);
  t.is(waits.length, 30);
  t.true((waits.at(-1) ?? 0) <= 60 && (waits.at(-1) ?? 0) >= 30, 'with backoff');
  leave();
  t.is(await ended, undefined);
});
