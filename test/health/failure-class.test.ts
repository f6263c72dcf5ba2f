import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { Redis } from 'ioredis';
import { openDatabase } from '../../app/db/database.ts';
import { freePort } from '../../app/dev/processes/free-port.ts';
import { until } from '../../app/dev/processes/until.ts';
import { classOf, type FailureClass } from '../../app/health/failure-class.ts';
import { assertWritable, connectRedis } from '../../app/redis/redis.ts';
import { createObjectStore } from '../../app/storage/create-store.ts';
import { openS3Store } from '../support/network/s3-store.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { createSignerClient } from '../../signer/protocol/client.ts';
import { startOwnRedis } from '../support/network/own-redis.ts';
import { createCertificate } from '../support/network/certificate.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { mayMount, mountSmallVolume } from '../support/documents/tmpfs.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { listenLocally } from '../support/network/local-server.ts';
import { testStack } from '../support/vault/stack.ts';

/** Asks a dependency in a way that fails. */
type Failing = (t: ExecutionContext) => Promise<unknown>;

/** Starts a server that accepts connections and never says anything. Returns its port. */
async function startMute(t: ExecutionContext): Promise<number> {
  const server = createServer(() => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Asks a database whose URL differs from that of a real one by `part`. */
async function askPostgres(t: ExecutionContext, part: Partial<URL>): Promise<void> {
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const url = Object.assign(new URL(database.settings.DATABASE_URL), part).href;
  const db = await openDatabase({ url, serviceUrl: url, poolSize: 1 });
  t.teardown(() => db.close());
  await db.ping();
}

/** Asks a database that accepts no connection of anybody but a superuser. */
async function askFullPostgres(t: ExecutionContext): Promise<void> {
  const { ownerUrl, settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const owner = await connectAs(ownerUrl);
  await owner.query(`alter database ${new URL(ownerUrl).pathname.slice(1)} connection limit 0`);
  await owner.end();
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  await db.ping();
}

async function askRedis(t: ExecutionContext, url: string): Promise<void> {
  const redis = connectRedis(url, createLog('silent'));
  t.teardown(() => redis.disconnect());
  await assertWritable(redis);
}

async function askS3(t: ExecutionContext, endpoint: string): Promise<void> {
  const store = openS3Store(t, endpoint);
  await store.ping();
}

/** Asks a server that gives this status to HEAD requests, as S3 servers do without a body. */
async function askS3With(t: ExecutionContext, status: number): Promise<void> {
  const server = createHttpServer((_request, response) => response.writeHead(status).end());
  await askS3(t, `http://127.0.0.1:${await listenLocally(t, server)}`);
}

async function askSigner(t: ExecutionContext, socketPath: string): Promise<void> {
  const signer = createSignerClient({ socketPath });
  t.teardown(() => signer.close());
  await signer.health({ timeoutMs: 500 });
}

async function newSocketPath(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-class-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return path.join(directory, 'signer.sock');
}

/** Leaves a socket behind, as a signer that was killed does. */
async function leaveSocket(t: ExecutionContext): Promise<string> {
  const socketPath = await newSocketPath(t);
  const program = `require('node:net').createServer().listen(${JSON.stringify(socketPath)})`;
  const child = spawn(process.execPath, ['-e', program]);
  const isThere = () =>
    access(socketPath).then(
      () => true,
      () => false,
    );
  await until(isThere, { what: 'the socket', timeoutMs: 60_000 });
  child.kill('SIGKILL');
  await once(child, 'exit');
  return socketPath;
}

async function leaveMuteSocket(t: ExecutionContext): Promise<string> {
  const socketPath = await newSocketPath(t);
  const server = createServer(() => undefined);
  await once(server.listen(socketPath), 'listening');
  t.teardown(() => server.close());
  return socketPath;
}

async function fillRedis(t: ExecutionContext): Promise<string> {
  const { url } = await startOwnRedis(t);
  const admin = new Redis(url);
  await admin.config('SET', 'maxmemory', '1');
  admin.disconnect();
  return url;
}

const noPath = async (): Promise<string> => '/nowhere/signer.sock';

const failures: Readonly<Record<string, readonly [FailureClass, Failing]>> = {
  'Postgres: a port where nothing listens': [
    'refused',
    async (t) => askPostgres(t, { port: String(await freePort()) }),
  ],
  'Postgres: a host that does not resolve': [
    'dns',
    (t) => askPostgres(t, { hostname: 'nothing.invalid' }),
  ],
  'Postgres: a wrong password': ['auth', (t) => askPostgres(t, { password: 'wrong' })],
  'Postgres: a missing database': ['not_found', (t) => askPostgres(t, { pathname: '/nowhere' })],
  'Postgres: no connection left': ['full', askFullPostgres],
  'Postgres: a missing socket': ['not_found', (t) => askPostgres(t, { hostname: '%2Fnowhere' })],
  'Postgres: a server that hangs': [
    'timeout',
    async (t) => askPostgres(t, { port: String(await startMute(t)) }),
  ],
  'Postgres: a server that hangs, in a pool': [
    'timeout',
    async (t) => {
      const url = `postgresql://app:secret@127.0.0.1:${await startMute(t)}/vault`;
      const db = await openDatabase({ url, serviceUrl: url, poolSize: 1 });
      t.teardown(() => db.close());
      await db.asService(async () => undefined);
    },
  ],
  'Redis: a port where nothing listens': [
    'refused',
    async (t) => askRedis(t, `redis://127.0.0.1:${await freePort()}`),
  ],
  'Redis: a host that does not resolve': ['dns', (t) => askRedis(t, 'redis://nothing.invalid:1')],
  'Redis: a wrong password': [
    'auth',
    (t) => askRedis(t, Object.assign(new URL(testStack().redisUrl), { password: 'wrong' }).href),
  ],
  'Redis: no password': [
    'auth',
    (t) =>
      askRedis(
        t,
        Object.assign(new URL(testStack().redisUrl), { username: '', password: '' }).href,
      ),
  ],
  'Redis: a server that hangs': [
    'timeout',
    async (t) => askRedis(t, `redis://127.0.0.1:${await startMute(t)}`),
  ],
  'Redis: no memory left': ['full', async (t) => askRedis(t, await fillRedis(t))],
  'S3: a port where nothing listens': [
    'refused',
    async (t) => askS3(t, `http://127.0.0.1:${await freePort()}`),
  ],
  'S3: a host that does not resolve': ['dns', (t) => askS3(t, 'http://nothing.invalid')],
  'S3: a server that hangs': [
    'timeout',
    async (t) => askS3(t, `http://127.0.0.1:${await startMute(t)}`),
  ],
  'S3: refused credentials': ['auth', (t) => askS3With(t, 403)],
  'S3: a missing bucket': ['not_found', (t) => askS3With(t, 404)],
  'S3: a certificate that nobody vouches for': [
    'tls',
    async (t) => {
      const certificate = await createCertificate();
      t.teardown(() => certificate[Symbol.asyncDispose]());
      const server = createHttpsServer({ ...certificate }, (_request, response) => response.end());
      await askS3(t, `https://127.0.0.1:${await listenLocally(t, server)}`);
    },
  ],
  'filesystem store: a missing directory': [
    'not_found',
    async () => {
      const config = { driver: 'filesystem', directory: '/nowhere/objects' } as const;
      await (await createObjectStore(config, { mayCreate: async () => false })).ping();
    },
  ],
  'signer: a missing socket': ['not_found', async (t) => askSigner(t, await noPath())],
  'signer: a socket that a killed signer left': [
    'refused',
    async (t) => askSigner(t, await leaveSocket(t)),
  ],
  'signer: a process that hangs': ['timeout', async (t) => askSigner(t, await leaveMuteSocket(t))],
};

for (const [what, [expected, fail]] of Object.entries(failures)) {
  test(`${what} is of the class ${expected}`, async (t) => {
    const error = await t.throwsAsync(fail(t));
    t.is(classOf(error), expected);
  });
}

for (const what of ['space', 'inodes', 'writing'] as const) {
  (mayMount ? test : test.skip)(
    `filesystem store: no ${what} left is of the class full`,
    async (t) => {
      const { directory, exhaust } = await mountSmallVolume(t);
      const store = await createObjectStore({ driver: 'filesystem', directory });
      await exhaust(what);
      t.is(classOf(await t.throwsAsync(store.createMultipart('a/b'))), 'full');
    },
  );
}

test('an error of no known class, and a value that is no error, are unavailable', (t) => {
  t.is(classOf(new Error('nothing is known of this')), 'unavailable');
  t.is(classOf(new TypeError('x', { cause: 'ECONNREFUSED' })), 'unavailable');
  t.is(classOf(undefined), 'unavailable');
});
