import { randomUUID } from 'node:crypto';
import test from 'ava';
import { sql } from 'kysely';
import { AppError } from '../../app/errors/app-error.ts';
import { openDatabase } from '../../app/db/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';

const owner = { userId: '7f1c2b7e-0f6d-4c3a-9a55-0d7f2f6f5a01', tenantId: 'default' };

test('a connection that breaks in a transaction returns its place to the pool', async (t) => {
  const poolSize = 2;
  const { proxy, settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize });
  t.teardown(() => db.close());

  for (const round of [1, 2, 3]) {
    const broken: unknown[] = [];
    let under = 0;
    const transactions = Array.from({ length: poolSize }, () =>
      db
        .asUser({ ...owner, userId: randomUUID() }, async (tx) => {
          under += 1;
          await sql`select pg_sleep(60)`.execute(tx);
        })
        .catch((error: unknown) => broken.push(error)),
    );
    await until(() => under === poolSize, { what: 'the transactions', timeoutMs: 60_000 });
    await proxy.close();
    await Promise.all(transactions);
    t.is(broken.length, poolSize);
    for (const error of broken) {
      t.true(error instanceof AppError && error.code === 'database_unavailable', `round ${round}`);
    }
    const ask = () => db.asUser({ ...owner, userId: randomUUID() }, async () => undefined);
    await t.throwsAsync(ask(), { code: 'database_unavailable' });
    await proxy.open();
    await t.notThrowsAsync(Promise.all(Array.from({ length: 8 }, ask)));
  }
});

test('the error of the work is thrown even where the rollback fails too', async (t) => {
  const { proxy, settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  const work = db.asService(async () => {
    await proxy.close();
    throw new AppError('not_found');
  });
  await t.throwsAsync(work, { code: 'not_found' });
});

test('a connection whose peer vanishes silently is closed and replaced in the pool', async (t) => {
  const { proxy, settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1, statementMs: 500 });
  t.teardown(() => db.close());
  for (let round = 0; round < 3; round += 1) {
    const transaction = db.asUser(owner, async (tx) => {
      await sql`select 1`.execute(tx);
      proxy.stall();
      await sql`select 2`.execute(tx);
    });
    await t.throwsAsync(transaction, { code: 'database_unavailable' });
    await t.notThrowsAsync(db.asUser(owner, async () => undefined));
  }
});
