import test from 'ava';
import { sql } from 'kysely';
import { openDatabase } from '../../../app/db/database.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';

const owner = { userId: '7f1c2b7e-0f6d-4c3a-9a55-0d7f2f6f5a01', tenantId: 'default' };

test('a ping is answered while every connection of the pools is taken', async (t) => {
  const { settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  const { promise: done, resolve: finish } = Promise.withResolvers<void>();
  const held = Promise.all([
    db.asUser(owner, () => done),
    db.asService(async (tx) => {
      await sql`select 1`.execute(tx);
      await done;
    }),
  ]);
  await db.ping();
  await Promise.all(Array.from({ length: 20 }, () => db.ping()));
  finish();
  await t.notThrowsAsync(held);
});

test('a ping replaces a connection that died silently', async (t) => {
  const { proxy, settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  for (let round = 0; round < 3; round += 1) {
    await db.ping();
    proxy.stall();
  }
  await t.notThrowsAsync(db.ping());
});

test('a ping to a Postgres that hangs fails in time, and succeeds once it goes on', async (t) => {
  const { proxy, settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  await db.ping();
  proxy.freeze();
  const pings = await Promise.allSettled([db.ping(), db.ping()]);
  t.deepEqual(
    pings.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  proxy.thaw();
  await t.notThrowsAsync(db.ping());
});
