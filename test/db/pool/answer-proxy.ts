import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { Client } from 'pg';
import { openDatabase, type Tx } from '../../../app/db/database.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';

/** A proxy that counts round trips, and can keep back what the server answers. */
async function startAnswerProxy(t: ExecutionContext, serverPort: number) {
  const held: Buffer[] = [];
  let isHolding = false;
  let isAnswered = true;
  let roundTrips = 0;
  let release = () => {};
  const server = createServer((client) => {
    const upstream = createConnection(serverPort, '127.0.0.1');
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('close', () => upstream.destroy());
    client.on('data', (chunk) => {
      if (isAnswered) roundTrips += 1;
      isAnswered = false;
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      isAnswered = true;
      return isHolding ? held.push(chunk) : client.write(chunk);
    });
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
    /** Counts the round trips that `work` takes. */
    async count(work: () => Promise<unknown>): Promise<number> {
      const before = roundTrips;
      await work();
      return roundTrips - before;
    },
  };
}

/** Opens a database of the test's own with one connection, and a client of its owner. */
export async function openBehindAnswerProxy(t: ExecutionContext, { idleMs = 30_000 } = {}) {
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

export const insertSlot = (tx: Tx, slot = 1_000) =>
  tx.insertInto('audit_totals').values({ slot, sealed: 0 }).execute();

/** Counts the committed slots that tests have inserted. */
export async function countSlots(observer: Client): Promise<number> {
  const { rows } = await observer.query('select slot from audit_totals where slot >= 1000');
  return rows.length;
}
