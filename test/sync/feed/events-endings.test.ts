import { randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { issuersFile } from '../../support/issuers/issuers-file.ts';
import { startKeyServer } from '../../support/issuers/key-server.ts';
import { createSigningKey } from '../../support/issuers/signing-key.ts';
import { testIssuer } from '../../support/issuers/test-issuer.ts';
import { logOut, replay, revoke, sessionIdOf } from '../../support/accounts/sessions.ts';
import { trustKey, type TrustedKey } from '../../support/accounts/trusted-key.ts';
import {
  ask,
  createDevice as registerDevice,
  createOwner,
  reauthHeader,
} from '../../support/accounts/owner.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';
import { send } from '../../support/http/send.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { createDevice } from '../../support/sync/devices.ts';
import { openFeed, untilChanges, untilReady, type FeedReader } from './feed-reader.ts';

const test = anyTest as TestFn<{ vault: TestVault; key: TrustedKey }>;

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, key: await trustKey(vault) };
});
test.after.always((t) => t.context.vault.stop());

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** Returns the reason of the end, which must come within the five seconds of the contract. */
async function soonClosed(feed: FeedReader): Promise<string | undefined> {
  await until(() => feed.events.at(-1)?.event === 'close', {
    what: 'the feed to end',
    timeoutMs: 60_000,
  });
  return feed.closed;
}

/**
 * Opens a feed by a token that expires soon; returns the feed and the expiry. A slow machine that
 * misses it tries another token.
 */
function openBriefly(
  t: ExecutionContext,
  vault: TestVault,
  deviceId: string,
  sign: (exp: number) => Promise<string>,
): Promise<{ feed: FeedReader; exp: number }> {
  const open = async () => {
    const exp = nowSeconds() + 2;
    const feed = await openFeed(t, vault, { api: { token: await sign(exp) }, deviceId });
    return feed.status === 200 && { feed, exp };
  };
  return until(open, { what: 'a feed by a token that expires soon', timeoutMs: 60_000 });
}

/** Opens a feed of a user with an account, on the device of their session. */
async function openOwn(t: ExecutionContext, vault: TestVault) {
  const owner = await createOwner(vault);
  const deviceId = await registerDevice(vault, owner.token);
  const feed = await openFeed(t, vault, { api: owner, deviceId });
  await untilReady(feed);
  return { owner, deviceId, feed };
}

test('a feed ends when its access token expires, and no sooner', async (t) => {
  const { vault, key } = t.context;
  const device = await createDevice(vault);
  const { userId, sessionId } = device.api.caller;
  const authz = { roles: ['user'], scopes: ['sync:read'] };
  const sign = (exp: number) => key.sign({ sub: userId, sid: sessionId, exp, authz });
  const long = await openFeed(t, vault, device);
  const { feed: short, exp } = await openBriefly(t, vault, device.deviceId, sign);
  await untilReady(short);
  t.is(await short.closed, 'token_expired');
  t.true(Date.now() >= exp * 1000);
  t.deepEqual(
    long.events.map(({ event }) => event),
    ['ready'],
  );
});

test('a feed ends with its login session, however that ends', async (t) => {
  const { vault } = t.context;
  const ways: ((own: Awaited<ReturnType<typeof openOwn>>) => Promise<unknown>)[] = [
    ({ owner }) => logOut(vault, owner.token),
    ({ owner }) => revoke(vault, sessionIdOf(owner.token), owner.token),
    async ({ owner }) => {
      await replay(vault, owner.refreshToken);
    },
    async ({ owner }) => {
      const headers = await reauthHeader(vault, owner);
      await send('DELETE', `${vault.baseUrl}/v1/auth/account`, { token: owner.token, headers });
    },
  ];
  await Promise.all(
    ways.map(async (end) => {
      const own = await openOwn(t, vault);
      await end(own);
      t.is(await soonClosed(own.feed), 'invalid_token');
    }),
  );
});

test('a feed ends when its device is revoked', async (t) => {
  const { vault } = t.context;
  const { owner, deviceId, feed } = await openOwn(t, vault);
  await ask(vault, owner.token, 'DELETE', `/devices/${deviceId}`);
  t.true(['invalid_token', 'device_blacklisted'].includes(String(await soonClosed(feed))));
});

test('a feed of another issuer’s session ends with its device and with its token', async (t) => {
  const server = await startKeyServer();
  t.teardown(() => server.close());
  const key = await createSigningKey();
  server.publish(key.jwk);
  const grants = { roles: ['user'], scopes: ['keys:manage', 'sync:read'], tenants: ['one'] };
  const issuer = { ...testIssuer(server.url), grants };
  const vault = await startReadyVault({ AUTH_ISSUERS_FILE: await issuersFile(t, [issuer]) });
  t.teardown(() => vault.stop());
  const sign = (sid: string, exp: number) =>
    key.sign({
      iss: issuer.issuer,
      aud: issuer.audience,
      exp,
      auth_time: nowSeconds(),
      sub: 'someone',
      tenant_id: 'one',
      sid,
      authz: { roles: ['user'], scopes: ['keys:manage', 'sync:read'] },
    });
  const later = nowSeconds() + 300;
  const [one, two] = [await sign('one', later), await sign('two', later)];
  const [lost, kept] = [await registerDevice(vault, one), await registerDevice(vault, two)];
  const feed = await openFeed(t, vault, { api: { token: one }, deviceId: lost });
  const other = await openFeed(t, vault, { api: { token: two }, deviceId: kept });
  await Promise.all([untilReady(feed), untilReady(other)]);
  await ask(vault, two, 'DELETE', `/devices/${lost}`);
  t.is(await soonClosed(feed), 'device_blacklisted');
  t.is(other.events.length, 1);

  const { feed: short } = await openBriefly(t, vault, kept, (exp) => sign('two', exp));
  await untilReady(short);
  t.is(await soonClosed(short), 'token_expired');
  t.is(other.events.length, 1);
});

test('a drain ends all feeds without waiting for them, and new ones are refused', async (t) => {
  const vault = await startReadyVault();
  const device = await createDevice(vault);
  const feeds = [await openFeed(t, vault, device), await openFeed(t, vault, device)];
  await Promise.all(feeds.map(untilReady));
  t.is(vault.services.changeFeeds.count(), 2);
  vault.services.beginDrain();
  t.deepEqual(await Promise.all(feeds.map(soonClosed)), ['shutting_down', 'shutting_down']);
  const late = await openFeed(t, vault, device);
  t.deepEqual([late.status, late.body['code']], [503, 'shutting_down']);
  t.is(late.headers.get('retry-after'), '5');
  await until(() => vault.services.changeFeeds.count() === 0, {
    what: 'the feeds to end',
    timeoutMs: 60_000,
  });
  await vault.stop();
});

test('a feed ends while Postgres is unreachable, and misses nothing afterwards', async (t) => {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const vault = await startReadyVault(database.settings);
  t.teardown(() => vault.stop());
  const { owner, deviceId, feed } = await openOwn(t, vault);
  await database.proxy.close();
  await until(() => feed.events.length > 1, { what: 'the feed to end', timeoutMs: 60_000 });
  t.is(await feed.closed, 'database_unavailable');

  await database.proxy.open();
  const objectId = randomUUID();
  const create = () =>
    send('POST', `${vault.baseUrl}/v1/sync/create`, {
      token: owner.token,
      headers: { 'X-Device-Id': deviceId, 'X-Schema-Version': '1' },
      json: { objectId, data: {} },
    });
  await until(async () => (await create()).status === 201, {
    what: 'a write',
    timeoutMs: 60_000,
  });
  const again = await openFeed(t, vault, { api: owner, deviceId }, { lastEventId: 0 });
  t.is((await untilChanges(again, 1))[0]?.objectId, objectId);
});

test('a feed leaves one log line, when it ends, and no secret in it', async (t) => {
  const { vault } = t.context;
  const device = await createDevice(vault);
  const feed = await openFeed(t, vault, device);
  const requestId = feed.headers.get('x-request-id') ?? randomUUID();
  await untilReady(feed);
  const lines = () => vault.logLines.filter((line) => line.includes(requestId));
  t.deepEqual(lines(), []);
  feed.leave();
  await until(() => lines().length > 0, { what: 'the line of the request', timeoutMs: 60_000 });
  t.is(lines().length, 1);
  t.like(JSON.parse(lines()[0] ?? ''), { level: 'info', status: 200, path: '/v1/sync/events' });
  t.false(vault.logLines.some((line) => line.includes(device.api.token)));
});
