import test from 'ava';
import { createTaskLock } from '../../app/maintenance/task-lock.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';

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

test('a stalled Postgres does not block a task that has ended', async (t) => {
  const { proxy, settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const lock = createTaskLock({ serviceUrl: settings.DATABASE_SERVICE_URL });
  const work = lock.hold('task', async () => {
    proxy.stall();
    throw new Error('the work failed');
  });
  t.is(await within(20_000, work), 'the work failed');
});

test('a lock can be held repeatedly, but not by two tasks at once', async (t) => {
  const { settings, ...database } = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const lock = createTaskLock({ serviceUrl: settings.DATABASE_SERVICE_URL });
  for (let turn = 0; turn < 20; turn += 1) {
    t.is(await lock.hold('task', async () => turn), turn);
  }
  const second = lock.hold('task', () => lock.hold('task', async () => undefined));
  await t.throwsAsync(second, { code: 'maintenance_running' });
});
