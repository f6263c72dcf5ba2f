import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createTurns } from '../../app/async/turns.ts';
import { untilWaiting } from '../support/accounts/paused-statement.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { startVault } from '../support/vault/vault.ts';
import { createDevice, createTwo } from '../support/sync/devices.ts';

test('blocked writes of one user do not delay the writes of another user', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const [busy, sibling] = await createTwo(vault);
  const other = await createDevice(vault);
  const admin = await connectAs(vault.databases.admin);
  await admin.query('begin');
  await admin.query('select from devices where device_id in ($1, $2) for update', [
    busy.deviceId,
    sibling.deviceId,
  ]);
  const create = (device: typeof busy) => device.create({ objectId: randomUUID(), data: {} });
  const waiting = Array.from({ length: 60 }, (_, n) => create(n % 2 === 0 ? busy : sibling));
  await untilWaiting(vault, 4);
  t.is((await create(other)).status, 201);
  await untilWaiting(vault, 4);
  await admin.query('commit');
  await admin.end();
  const answers = await Promise.all(waiting);
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
});

test('a write that waited too long for a lock fails with 503 and stores nothing', async (t) => {
  const vault = await startVault();
  t.teardown(() => vault.stop());
  const device = await createDevice(vault);
  const objectId = randomUUID();
  const admin = await connectAs(vault.databases.admin);
  await admin.query('begin');
  await admin.query('select from devices where device_id = $1 for update', [device.deviceId]);
  const sent = device.create({ objectId, data: {} });
  await untilWaiting(vault, 1);
  await admin.query(
    `select pg_cancel_backend(pid) from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  const { status, body } = await sent;
  t.deepEqual([status, body['code']], [503, 'database_unavailable']);
  await admin.query('commit');
  await admin.end();
  t.is((await device.create({ objectId, data: {} })).status, 201);
});

test('turns start in order, never more at once than the limit, even when some fail', async (t) => {
  const turns = createTurns(2);
  const order: number[] = [];
  let atOnce = 0;
  const work = (n: number) => async () => {
    atOnce += 1;
    t.true(atOnce <= 2);
    order.push(n);
    await new Promise((resolve) => setImmediate(resolve));
    atOnce -= 1;
    if (n % 3 === 0) throw new Error('a failure');
    return n;
  };
  const numbers = Array.from({ length: 20 }, (_, n) => n);
  const results = await Promise.allSettled(numbers.map((n) => turns.take(work(n))));
  t.deepEqual(order, numbers);
  t.is(results.filter(({ status }) => status === 'rejected').length, 7);
});
