import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../app/db/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createTaskLock } from '../../app/maintenance/task-lock.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { createSql } from '../support/vault/sql.ts';

const stuck = 'stuck';

const within = (ms: number, work: Promise<unknown>) => {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(stuck), ms);
  return Promise.race([
    work.then(
      () => 'done',
      (error: Error & { readonly code?: string }) => error.code ?? error.message,
    ),
    promise,
  ]).finally(() => clearTimeout(timer));
};

async function open(t: ExecutionContext) {
  const { proxy, databases, settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 2, checksLocks: true });
  t.teardown(() => db.close());
  return { lock: createTaskLock({ db }), db, proxy, sql: createSql({ databases }) };
}

const running = { code: 'maintenance_running' };

test('a stalled Postgres does not block a task that has ended', async (t) => {
  const { lock, proxy } = await open(t);
  const work = lock.hold('task', async () => {
    proxy.stall();
    throw new Error('the work failed');
  });
  t.is(await within(20_000, work), 'the work failed');
});

test('a lock can be held repeatedly, but not by two tasks at once', async (t) => {
  const { lock } = await open(t);
  for (let turn = 0; turn < 20; turn += 1) {
    t.is(await lock.hold('task', async () => turn), turn);
  }
  const second = lock.hold('task', () => lock.hold('task', async () => undefined));
  await t.throwsAsync(second, running);
  const other = lock.hold('task', () => lock.hold('another task', async () => 'both'));
  t.is(await other, 'both');
});

test('a run whose lease ended commits nothing once another run has begun', async (t) => {
  const { lock, db, sql } = await open(t);
  const slots = () => sql('select slot from audit_totals where slot = 1000');
  await lock.hold('task', async (late) => {
    await sql('update maintenance_locks set held_until = now()');
    await lock.hold('task', async (lease) => {
      const lateBatch = db.asService(async (tx) => {
        await tx.insertInto('audit_totals').values({ slot: 1_000, sealed: 0 }).execute();
        await late.confirm(tx);
      });
      await t.throwsAsync(lateBatch, running);
      t.deepEqual(await slots(), []);
      await t.notThrowsAsync(db.asService((tx) => lease.confirm(tx)));
    });
    await lock.hold('task', async () => {
      await t.throwsAsync(
        db.asService((tx) => late.confirm(tx)),
        running,
      );
    });
  });
});

test('the late end of a run does not release the lock of the next run', async (t) => {
  const { lock, sql } = await open(t);
  const late = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const first = lock.hold('task', async () => {
    begun.resolve();
    await late.promise;
  });
  await begun.promise;
  await sql('update maintenance_locks set held_until = now()');
  await lock.hold('task', async () => {
    late.resolve();
    await first;
    await t.throwsAsync(
      lock.hold('task', async () => undefined),
      running,
    );
  });
});

test('a lock is renewed as long as its run lasts', async (t) => {
  const { lock, sql } = await open(t);
  const end = async () => (await sql('select held_until from maintenance_locks'))[0]?.held_until;
  await lock.hold('task', async () => {
    const first = (await end()) as Date;
    const renewed = async () => ((await end()) as Date) > first;
    t.true(await until(renewed, { what: 'the renewal', timeoutMs: 60_000, intervalMs: 200 }));
  });
  t.is(await end(), null);
});
