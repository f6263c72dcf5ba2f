import { randomUUID } from 'node:crypto';
import { createConnection, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { TLSSocket } from 'node:tls';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { connectOwner } from '../../app/db/migrating/migrate.ts';
import { openDatabase } from '../../app/db/database.ts';
import { createIsolationCheck } from '../../app/db/isolation/check.ts';
import { defaultRoles } from '../../app/db/columns/roles.ts';
import { createDatabase, databaseUrls, dropDatabase } from '../../app/dev/postgres/database.ts';
import { createCertificate, type Certificate } from '../support/network/certificate.ts';
import { testStack } from '../support/vault/stack.ts';

interface Context {
  readonly certificate: Certificate;
  readonly database: string;
}

const test = anyTest as TestFn<Context>;

test.before(async (t) => {
  const { postgres, templateDatabase } = testStack();
  const database = `tls_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, database, templateDatabase);
  t.context = { certificate: await createCertificate(), database };
});
test.after.always(async (t) => {
  const { certificate, database } = t.context;
  await certificate[Symbol.asyncDispose]();
  await dropDatabase(testStack().postgres, database);
});

/** The message with which a client asks Postgres for TLS. */
const tlsRequest = Buffer.from('0000000804d2162f', 'hex');

interface Front {
  /** Returns a URL of the database behind it, with parameters. */
  url(login: 'app' | 'service' | 'owner', parameters?: string): string;
  /** The number of connections with and without TLS. */
  readonly counts: { tls: number; plain: number };
}

/** Starts a server before Postgres that speaks TLS with those who ask for it, unless it refuses. */
async function startFront(
  t: ExecutionContext<Context>,
  { refuses = false, hostname = 'localhost' } = {},
): Promise<Front> {
  const { postgres } = testStack();
  const { certificate, database } = t.context;
  const counts = { tls: 0, plain: 0 };
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
    return socket;
  };
  const server = createServer((client) => {
    keep(client).once('data', (first) => {
      client.pause();
      const asks = first.subarray(0, 8).equals(tlsRequest);
      if (asks && refuses) return client.end('N');
      counts[asks ? 'tls' : 'plain'] += 1;
      const upstream = keep(createConnection(postgres.port, postgres.host));
      if (!asks) {
        upstream.write(first);
        return void client.pipe(upstream).pipe(client);
      }
      client.write('S');
      const { key, cert } = certificate;
      const secure = keep(new TLSSocket(client, { isServer: true, key, cert }));
      return void secure.pipe(upstream).pipe(secure);
    });
  });
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const urls = databaseUrls(postgres, database);
  return {
    url: (login, parameters = '') =>
      `${Object.assign(new URL(urls[login]), { hostname, port }).href}${parameters}`,
    counts,
  };
}

async function open(t: ExecutionContext, url: string, serviceUrl = url) {
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  return db;
}

test('a URL with sslmode connects by TLS to a server of a named authority', async (t) => {
  const { url, counts } = await startFront(t);
  const verified = `?sslmode=verify-full&sslrootcert=${t.context.certificate.file}`;
  const db = await open(t, url('app', verified), url('service', verified));
  await db.ping();
  await db.asService(async () => undefined);
  t.deepEqual(counts, { tls: 2, plain: 0 });
  const owner = await connectOwner(url('owner', verified));
  t.teardown(() => owner.close());
  await owner.em.fork().getConnection().execute('select 1');
  t.deepEqual(counts, { tls: 3, plain: 0 });
});

test('without sslmode the connection is plain', async (t) => {
  const { url, counts } = await startFront(t);
  await (await open(t, url('app'))).ping();
  t.deepEqual(counts, { tls: 0, plain: 1 });
});

test('a server that nobody vouches for gets no login, and the start says what to do', async (t) => {
  const { url, counts } = await startFront(t);
  const unknown = '?sslmode=verify-full';
  const db = await open(t, url('app', unknown), url('service', unknown));
  await t.throwsAsync(db.ping(), { code: 'database_unavailable' });
  const problem = await createIsolationCheck(db, defaultRoles)();
  t.regex(problem?.text ?? '', /^DATABASE_URL names a server whose certificate .*: name its auth/);
  t.is(counts.plain, 0);
});

test('a server whose certificate is for another host gets no login', async (t) => {
  // Another name of 127.0.0.1, which the certificate does not have.
  const { url } = await startFront(t, { hostname: '127.1' });
  const verified = `?sslmode=verify-full&sslrootcert=${t.context.certificate.file}`;
  const db = await open(t, url('app', verified), url('service', verified));
  const problem = await createIsolationCheck(db, defaultRoles)();
  t.regex(
    problem?.text ?? '',
    /^DATABASE_URL names a server whose certificate is for another host/,
  );
});

test('a server without TLS gets no login from a URL with sslmode', async (t) => {
  const { url, counts } = await startFront(t, { refuses: true });
  const verified = '?sslmode=verify-full';
  const db = await open(t, url('app', verified), url('service', verified));
  await t.throwsAsync(db.ping(), { code: 'database_unavailable' });
  const problem = await createIsolationCheck(db, defaultRoles)();
  t.regex(problem?.text ?? '', /^DATABASE_URL has an sslmode, but the server has no TLS: /);
  t.deepEqual(counts, { tls: 0, plain: 0 });
});
