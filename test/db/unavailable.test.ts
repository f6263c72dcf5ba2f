import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { openDatabase, type Database, type Tx } from '../../app/db/database.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';

interface Login {
  readonly url: string;
  readonly serviceUrl: string;
}

async function open(t: ExecutionContext, { url, serviceUrl }: Login): Promise<Database> {
  const db = await openDatabase({ url, serviceUrl, poolSize: 2 });
  t.teardown(() => db.close());
  return db;
}

async function openOwn(t: ExecutionContext) {
  const { settings, ownerUrl, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const login = { url: settings.DATABASE_URL, serviceUrl: settings.DATABASE_SERVICE_URL };
  return { db: await open(t, login), login, ownerUrl };
}

const fail = (db: Database, code: string) =>
  db.asService((tx) =>
    sql.raw(`do $$ begin raise exception 'made up' using errcode = '${code}'; end $$`).execute(tx),
  );

const insertSlot = (tx: Tx, slot: number) =>
  tx.insertInto('audit_totals').values({ slot, sealed: 0 }).execute();

const lockSlot = (tx: Tx, slot: number) =>
  tx.selectFrom('audit_totals').select('slot').where('slot', '=', slot).forUpdate().execute();

const away = { code: 'database_unavailable' };

test('an error of Postgres that may pass by itself becomes database_unavailable', async (t) => {
  const { db } = await openOwn(t);
  // In order: disk full, out of memory, I/O error, connection lost behind a pooler, serialization
  // failure, lock not available, and the timeouts of an idle transaction, a transaction and a
  // session.
  for (const code of [
    '53100',
    '53200',
    '58030',
    '08006',
    '40001',
    '55P03',
    '25P03',
    '25P04',
    '57P05',
  ]) {
    await t.throwsAsync(fail(db, code), away, code);
  }
});

test('an error that Postgres would raise again keeps its code', async (t) => {
  const { db } = await openOwn(t);
  for (const code of ['22001', '23514', '25P02', '42501', '42703', 'P0001']) {
    await t.throwsAsync(fail(db, code), { code }, code);
  }
});

test('one victim of a deadlock gets database_unavailable, and the other goes on', async (t) => {
  const { db } = await openOwn(t);
  await db.asService(async (tx) => {
    await insertSlot(tx, 1_000);
    await insertSlot(tx, 1_001);
  });
  const both = Promise.withResolvers<void>();
  let locked = 0;
  const lock = (first: number, second: number) =>
    db.asService(async (tx) => {
      await lockSlot(tx, first);
      locked += 1;
      if (locked === 2) both.resolve();
      await both.promise;
      await lockSlot(tx, second);
    });
  const ends = await Promise.allSettled([lock(1_000, 1_001), lock(1_001, 1_000)]);
  const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as object] : []));
  t.is(reasons.length, 1);
  t.like(reasons[0], away);
});

test('a read-only database, such as a standby, fails writes and serves reads', async (t) => {
  const { login, ownerUrl } = await openOwn(t);
  const name = new URL(ownerUrl).pathname.slice(1);
  const owner = await connectAs(ownerUrl);
  t.teardown(() => owner.end());
  await owner.query(`alter database ${name} set default_transaction_read_only = on`);
  const db = await open(t, login);
  await t.throwsAsync(
    db.asService((tx) => insertSlot(tx, 1_000)),
    away,
  );
  await t.notThrowsAsync(db.ping());
  await t.notThrowsAsync(db.asService(async () => undefined));
});

test('a database that is missing or refuses the login counts as unavailable', async (t) => {
  const { login } = await openOwn(t);
  const change = (url: string, part: Partial<URL>) => Object.assign(new URL(url), part).href;
  for (const part of [{ pathname: '/nowhere' }, { password: 'another' }]) {
    const { url, serviceUrl } = login;
    const db = await open(t, {
      url: change(url, part),
      serviceUrl: change(serviceUrl, part),
    });
    await t.throwsAsync(db.ping(), away, JSON.stringify(part));
    await t.throwsAsync(
      db.asService(async () => undefined),
      away,
      JSON.stringify(part),
    );
  }
});

test('a Unix socket that is gone, as while Postgres restarts, counts as unavailable', async (t) => {
  const url = 'postgresql://probatio_app:secret@%2Fnowhere/probatio';
  const db = await open(t, { url, serviceUrl: url });
  await t.throwsAsync(db.ping(), away);
  await t.throwsAsync(
    db.asService(async () => undefined),
    away,
  );
});
