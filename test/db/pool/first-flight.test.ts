import test, { type ExecutionContext } from 'ava';
import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { Client } from 'pg';
import { openDatabase, type Tx } from '../../../app/db/database.ts';
import { until } from '../../support/audit/token-fixture.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';

/** A proxy that can keep back what the server answers. */
async function startAnswerProxy(t: ExecutionContext, serverPort: number) {
  const held: Buffer[] = [];
  let isHolding = false;
  let release = () => {};
  const server = createServer((client) => {
    const upstream = createConnection(serverPort, '127.0.0.1');
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('data', (chunk) => upstream.write(chunk)).on('close', () => upstream.destroy());
    upstream.on('data', (chunk) => (isHolding ? held.push(chunk) : client.write(chunk)));
    release = () => {
      isHolding = false;
      for (const chunk of held.splice(0)) client.write(chunk);
    };
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return {
    port: (server.address() as AddressInfo).port,
    hold: () => {
      isHolding = true;
    },
    release: () => release(),
  };
}

/** Opens a database of the test's own with one connection, and a client of its owner. */
async function open(t: ExecutionContext, { idleMs = 30_000 } = {}) {
  const { databases, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const proxy = await startAnswerProxy(t, Number(new URL(databases.owner).port));
  const via = (url: string) =>
    Object.assign(new URL(url), { host: `127.0.0.1:${proxy.port}` }).href;
  const db = await openDatabase({
    url: via(databases.app),
    serviceUrl: via(databases.service),
    poolSize: 1,
    idleMs,
  });
  t.teardown(() => db.close());
  const observer = new Client(databases.service);
  await observer.connect();
  t.teardown(() => observer.end());
  return { db, proxy, observer };
}

const insertSlot = (tx: Tx) =>
  tx.insertInto('audit_totals').values({ slot: 1_000, sealed: 0 }).execute();

async function countSlots(observer: Client): Promise<unknown> {
  const { rows } = await observer.query('select slot from audit_totals where slot = 1000');
  return rows.length;
}

test('the first statement of a transaction is sent before Postgres has answered', async (t) => {
  const { db, proxy, observer } = await open(t);
  const { pid } = await db.asService(async (tx) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
    return rows[0] ?? { pid: 0 };
  });
  proxy.hold();
  const inserted = db.asService(insertSlot);
  await until(async () => {
    const { rows } = await observer.query<{ query: string }>(
      'select query from pg_stat_activity where pid = $1',
      [pid],
    );
    return rows[0]?.query.startsWith('insert into') === true;
  });
  t.is(await countSlots(observer), 0);
  proxy.release();
  await inserted;
  t.is(await countSlots(observer), 1);
});

test('a statement leaves nothing if its transaction cannot begin', async (t) => {
  const { db, observer } = await open(t, { idleMs: -1 });
  await t.throwsAsync(db.asService(insertSlot), { message: /idle_in_transaction|aborted/ });
  t.is(await countSlots(observer), 0);
});

test('a transaction that cannot begin has no result, whatever its work returns', async (t) => {
  const { db } = await open(t, { idleMs: -1 });
  await t.throwsAsync(db.asService(async () => 'done'));
});
