import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { lengthy, openDatabase, type Tx } from '../../../app/db/database.ts';
import { startProxiedDatabase } from '../../support/network/proxied-database.ts';

const owner = { userId: '7f1c2b7e-0f6d-4c3a-9a55-0d7f2f6f5a01', tenantId: 'default' };

async function open(t: ExecutionContext, options: { statementMs?: number; poolSize?: number }) {
  const { settings, proxy, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1, ...options });
  t.teardown(() => db.close());
  return { db, proxy };
}

const away = { code: 'database_unavailable' };

const readLimits = async (tx: Tx) => {
  const { rows } = await sql<{ statement: string; idle: string }>`
    select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle`.execute(tx);
  return rows[0];
};

test('every transaction has its limits, and no connection has parameters of its own', async (t) => {
  const { db } = await open(t, {});
  const usual = { statement: '7s', idle: '30s' };
  t.deepEqual(await db.asUser(owner, readLimits), usual);
  t.deepEqual(await db.asService(readLimits, lengthy), { ...usual, statement: '30s' });
  t.deepEqual(await db.asService(readLimits), usual);
  const { rows } = await db.asService((tx) =>
    sql<{ name: string }>`select name from pg_settings where source = 'client'`.execute(tx),
  );
  // PgBouncer tracks this parameter, and the driver always sends it.
  t.deepEqual(rows, [{ name: 'client_encoding' }]);
});

test('a statement that takes too long is ended, unless its transaction is lengthy', async (t) => {
  const { db } = await open(t, { statementMs: 300 });
  const sleep = async (tx: Tx) => {
    await sql`select pg_sleep(1.5)`.execute(tx);
  };
  await t.throwsAsync(db.asUser(owner, sleep), away);
  await t.throwsAsync(db.asService(sleep), away);
  await t.notThrowsAsync(db.asService(sleep, lengthy));
});

test('a frozen Postgres fails each transaction in time, also a lengthy one', async (t) => {
  const { db, proxy } = await open(t, { statementMs: 1_000, poolSize: 4 });
  const frozen = Promise.withResolvers<void>();
  const insert = async (tx: Tx) => {
    await tx.insertInto('audit_totals').values({ slot: 1_000, sealed: 0 }).execute();
    proxy.freeze();
    frozen.resolve();
    await sql`select 1`.execute(tx);
  };
  const begin = performance.now();
  const inserted = db.asService(insert, lengthy);
  await frozen.promise;
  await Promise.all([
    t.throwsAsync(inserted, away),
    t.throwsAsync(db.asUser(owner, readLimits), away),
  ]);
  // A lengthy transaction may take 30 s, but nothing else was answered either.
  t.true(performance.now() - begin < 20_000);

  proxy.thaw();
  const readSlots = (tx: Tx) =>
    tx.selectFrom('audit_totals').select('slot').where('slot', '=', 1_000).execute();
  for (let round = 0; round < 8; round += 1) t.deepEqual(await db.asService(readSlots), []);
});

test('while Postgres is silent, the next transaction is given up sooner', async (t) => {
  const { db, proxy } = await open(t, { statementMs: 5_000 });
  const read = () => db.asService(readLimits);
  await read();
  proxy.freeze();
  const timed = async (work: Promise<unknown>) => {
    const begin = performance.now();
    await t.throwsAsync(work, away);
    return performance.now() - begin;
  };
  const first = await timed(read());
  t.true(first > 5_000);
  t.true((await timed(read())) < first - 2_000);
  proxy.thaw();
  await t.notThrowsAsync(read());
});
