import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { startRevocations } from '../../app/sessions/revocations.ts';
import { openDatabase, type Database } from '../../app/db/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { createAccount, openSession } from '../support/accounts/test-account.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { startTcpProxy } from '../support/network/tcp-proxy.ts';
import { assertError } from '../support/http/error-body.ts';
import { testStack } from '../support/vault/stack.ts';
import { startReplica } from '../support/documents/replica.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, startVault, type TestVault } from '../support/vault/vault.ts';
import {
  logOut,
  refresh,
  replay,
  revoke,
  sessionIdOf,
  tryToken,
} from '../support/accounts/sessions.ts';

const invalidToken = { status: 401, code: 'invalid_token' };
const databaseAway = { status: 503, code: 'database_unavailable' };

async function startTestVault(t: ExecutionContext, settings: NodeJS.ProcessEnv = {}) {
  const vault = await startReadyVault(settings);
  t.teardown(() => vault.stop());
  return vault;
}

/** Returns the settings for another vault on the same database, store and mail directory. */
function sameBackends(vault: TestVault) {
  const { databases } = vault;
  return {
    DATABASE_URL: databases.app,
    DATABASE_SERVICE_URL: databases.service,
    STORAGE_DIRECTORY: vault.storeDirectory,
    MAIL_DIRECTORY: vault.mailDirectory,
  };
}

/** Asserts that the token is refused within the five seconds of the contract. */
async function assertSoonRefused(t: ExecutionContext, at: { baseUrl: string }, token: string) {
  const answer = await until(
    async () => {
      const answer = await tryToken(at, token);
      return answer.status !== 200 && answer;
    },
    { what: 'the revocation to be known', timeoutMs: 60_000 },
  );
  assertError(t, answer, invalidToken);
}

test('a session that ends in one process is refused by every other within 5 s', async (t) => {
  const vault = await startTestVault(t);
  const replica = await startReplica(vault);
  t.teardown(() => replica.process.stop());
  const account = await createAccount(vault);
  const [mine, loggedOut, revoked, reused] = [
    await openSession(vault, account),
    await openSession(vault, account),
    await openSession(vault, account),
    await openSession(vault, account),
  ];
  for (const { accessToken } of [loggedOut, revoked, reused]) {
    t.is((await tryToken(replica, accessToken)).status, 200);
  }

  await logOut(vault, loggedOut.accessToken);
  await assertSoonRefused(t, replica, loggedOut.accessToken);
  await revoke(replica, sessionIdOf(revoked.accessToken), mine.accessToken);
  await assertSoonRefused(t, vault, revoked.accessToken);
  await replay(vault, reused.refreshToken);
  await assertSoonRefused(t, replica, reused.accessToken);
  t.is((await tryToken(replica, mine.accessToken)).status, 200);
});

test('without Redis sessions are refreshed, and revoked in every process', async (t) => {
  const redis = await startTcpProxy(testStack().redisUrl);
  t.teardown(() => redis.close());
  const vault = await startTestVault(t, { REDIS_URL: redis.url });
  const other = await startTestVault(t, { ...sameBackends(vault), REDIS_URL: redis.url });
  const session = await openSession(vault, await createAccount(vault));

  await redis.close();
  const { status, body } = await refresh(vault, session.refreshToken);
  t.is(status, 200);
  const { accessToken } = body as { accessToken: string };
  t.is((await tryToken(other, accessToken)).status, 200);
  t.is((await logOut(vault, accessToken)).status, 204);
  assertError(t, await tryToken(vault, accessToken), invalidToken);
  await assertSoonRefused(t, other, accessToken);
});

test('a revocation that commits late is not missed', async (t) => {
  const vault = await startTestVault(t);
  const account = await createAccount(vault);
  const [late, early] = [await openSession(vault, account), await openSession(vault, account)];
  const end = 'update login_sessions set revoked_at = now() where id = $1';
  const slow = await connectAs(vault.databases.service);
  t.teardown(() => slow.end());
  await slow.query('begin');
  await slow.query(end, [sessionIdOf(late.accessToken)]);

  await createSql(vault)(end, [sessionIdOf(early.accessToken)]);
  await assertSoonRefused(t, vault, early.accessToken);
  t.is((await tryToken(vault, late.accessToken)).status, 200);
  await slow.query('commit');
  await assertSoonRefused(t, vault, late.accessToken);
});

test('a new process refuses a revoked token from its first request on', async (t) => {
  const vault = await startTestVault(t);
  const { accessToken } = await openSession(vault, await createAccount(vault));
  await logOut(vault, accessToken);
  const started = await startVault(sameBackends(vault));
  t.teardown(() => started.stop());
  assertError(t, await tryToken(started, accessToken), invalidToken);
});

test('a process that cannot read revocations for 5 s refuses everybody until it can', async (t) => {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const vault = await startTestVault(t, database.settings);
  const { accessToken } = await openSession(vault, await createAccount(vault));

  await database.proxy.close();
  t.is((await tryToken(vault, accessToken)).status, 200, 'the known revocations are recent enough');
  const answer = await until(
    async () => {
      const answer = await tryToken(vault, accessToken);
      return answer.status !== 200 && answer;
    },
    { what: 'the refusal', timeoutMs: 60_000 },
  );
  assertError(t, answer, databaseAway);

  await database.proxy.open();
  await until(async () => (await tryToken(vault, accessToken)).status === 200, {
    what: 'the database to be used again',
    timeoutMs: 60_000,
  });
});

/** Opens a database behind a proxy, and starts revocations without an app. */
async function startOnProxy(t: ExecutionContext) {
  const database = await startProxiedDatabase();
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = database.settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 2 });
  t.teardown(async () => {
    await database.proxy.close();
    await db.close();
    await database[Symbol.asyncDispose]();
  });
  const start = () => {
    const revocations = startRevocations({ db, log: createLog('silent') });
    t.teardown(() => revocations.stop());
    return revocations;
  };
  /** Host of the server behind the proxy. */
  const pastProxy = { host: new URL(database.ownerUrl).host };
  const serviceUrlPastProxy = Object.assign(new URL(serviceUrl), pastProxy).href;
  return { database, serviceUrlPastProxy, start };
}

test('before the first read of revocations nobody is admitted', async (t) => {
  const { database, start } = await startOnProxy(t);
  await database.proxy.close();
  await t.throwsAsync(start().isRevoked(randomUUID()), { code: databaseAway.code });
});

test('a connection that hangs does not hide later revocations', async (t) => {
  const { database, serviceUrlPastProxy, start } = await startOnProxy(t);
  const revocations = start();
  t.false(await revocations.isRevoked(randomUUID()));

  database.proxy.stall();
  const id = randomUUID();
  const service = await connectAs(serviceUrlPastProxy);
  t.teardown(() => service.end());
  await service.query(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at, revoked_at)
     values ($1, $1, 'default', now(), now(), now())`,
    [id],
  );
  await until(() => revocations.isRevoked(id).catch(() => false), {
    what: 'another connection to read it',
    timeoutMs: 60_000,
  });
  t.pass();
});

test.serial('revocations read before a process was paused admit nobody afterwards', async (t) => {
  const answers: ((rows: { id: string }[]) => void)[] = [];
  const asService = () =>
    new Promise<{ id: string }[]>((resolve) => {
      answers.push(resolve);
    });
  const revocations = startRevocations({
    db: { asService } as unknown as Database,
    log: createLog('silent'),
  });
  t.teardown(async () => {
    for (const answer of answers) answer([]);
    await revocations.stop();
  });
  await until(async () => answers.length === 1, { what: 'the first read', timeoutMs: 60_000 });

  const revokedMeanwhile = randomUUID();
  const { now } = performance;
  t.teardown(() => Object.assign(performance, { now }));
  Object.assign(performance, { now: () => now.call(performance) + 60_000 });
  const isRevoked = revocations.isRevoked(revokedMeanwhile);
  answers[0]?.([]);
  await until(async () => answers.length === 2, { what: 'a new read', timeoutMs: 60_000 });
  answers[1]?.([{ id: revokedMeanwhile }]);
  t.true(await isRevoked);
});
