import { randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { change, createDevice, createObject, type SyncDevice } from '../support/sync/devices.ts';
import {
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';

const test = anyTest as TestFn<MaintenanceVault>;

test.before(async (t) => {
  t.context = await startMaintenanceVault();
});
test.after.always((t) => t.context.stop());

const kept = 100;

/** Writes until the object has that version; each version changes another field. */
async function writeUpTo(device: SyncDevice, objectId: string, from: number, version: number) {
  for (let base = from; base < version; base += 1) {
    const { status } = await device.write(change(objectId, base, { [`f${base + 1}`]: base }));
    if (status !== 200) throw new Error(`version ${base + 1} got ${status}`);
  }
}

async function versionsOf({ context }: ExecutionContext<MaintenanceVault>, objectId: string) {
  const rows = await context.sql(
    'select version, undo is not null as undo from sync_history where object_id = $1 order by id',
    [objectId],
  );
  return rows.map(({ version, undo }) => ({ version: Number(version), undo: undo === true }));
}

/** Lets days pass for the histories. */
const passDays = ({ sql }: MaintenanceVault, days: number) =>
  sql(
    `update sync_history set expires_at = expires_at - $1 * interval '1 day',
       recorded_at = recorded_at - $1 * interval '1 day'`,
    [days],
  );

test.serial('the newest 100 versions stay, and earlier ones for 8 days', async (t) => {
  const { vault, counts } = t.context;
  const device = await createDevice(vault);
  const objectId = await createObject(device, { f1: 0 });
  await writeUpTo(device, objectId, 1, kept + 5);
  await passDays(t.context, 7);
  t.like(await counts('collect-garbage'), { removedSyncHistory: 0, forgottenSyncUndos: 0 });
  t.is((await versionsOf(t, objectId)).length, kept + 5);

  await passDays(t.context, 2);
  const found = { removedSyncHistory: 5, forgottenSyncUndos: kept };
  t.like(await counts('collect-garbage', '?dryRun=true'), found);
  t.like(await counts('collect-garbage'), found);
  t.like(await counts('collect-garbage'), { removedSyncHistory: 0, forgottenSyncUndos: 0 });
  const left = await versionsOf(t, objectId);
  t.deepEqual(
    left.map(({ version }) => version),
    Array.from({ length: kept }, (_, n) => n + 6),
  );
  t.false(left.some(({ undo }) => undo));

  const { history } = (await device.get(`/v1/sync/${objectId}/history?limit=1000`)).body;
  t.is((history as unknown[]).length, kept);
  t.is((await device.get(`/v1/sync/${objectId}/export`)).status, 200);
});

test.serial('a base older than the history conflicts and loses nothing', async (t) => {
  const { vault, counts } = t.context;
  const device = await createDevice(vault);
  const objectId = await createObject(device, { f1: 0, same: 1 });
  await writeUpTo(device, objectId, 1, kept + 5);
  await passDays(t.context, 9);
  await counts('collect-garbage');
  const before = (await device.get(`/v1/sync/${objectId}`)).body;

  // Version 6 is the earliest of the history: its changes since version 5 are known.
  const known = await device.write(change(objectId, 5, { f5: 'mine' }));
  t.is(known.status, 200);
  t.is(known.body['ruleApplied'], 'FIELD_MERGE');

  const unknown = await device.write(change(objectId, 4, { f4: 'mine', f999: 'new', same: 1 }));
  t.is(unknown.status, 409);
  t.like(unknown.body, {
    code: 'sync_conflict',
    conflictType: 'CONCURRENT_MODIFICATION',
    fields: ['/f4', '/f999'],
    serverVersion: kept + 6,
  });
  const deletion = { objectId, version: 3, baseVersion: 2, deleted: true };
  t.is((await device.write(deletion)).status, 409);
  const { data } = (await device.get(`/v1/sync/${objectId}`)).body;
  t.deepEqual(data, { ...(before['data'] as object), f5: 'mine' });

  // A value that is already as the write says is no conflict, as with a known base.
  t.like(await device.write(change(objectId, 1, { same: 1 })), { status: 200 });
});

test.serial('the history of a deleted object shrinks to its deletion', async (t) => {
  const { vault, counts } = t.context;
  const [device, other] = [await createDevice(vault), await createDevice(vault)];
  const objectId = await createObject(device, { f1: 0 });
  const living = await createObject(other, { f1: 0 });
  await writeUpTo(device, objectId, 1, 4);
  const gone = await device.write({ objectId, version: 5, baseVersion: 4, deleted: true });
  t.is(gone.status, 200);
  await passDays(t.context, 9);
  await counts('collect-garbage');
  t.deepEqual(await versionsOf(t, objectId), [{ version: 5, undo: false }]);
  t.is((await versionsOf(t, living)).length, 1);
  t.is((await device.get(`/v1/sync/${objectId}/history`)).status, 200);
  const late = await device.write(change(objectId, 4, { a: 1 }));
  t.like(late.body, { conflictType: 'DELETED_ON_SERVER', serverVersion: 5 });
  t.is((await device.create({ objectId, data: {} })).body['code'], 'object_exists');
});

test.serial('conflicts are kept for 30 days', async (t) => {
  const { vault, counts, sql } = t.context;
  const device = await createDevice(vault);
  const objectId = await createObject(device, { a: 0 });
  await device.write(change(objectId, 1, { a: 1 }));
  t.is((await device.write(change(objectId, 1, { a: 2 }))).status, 409);
  const conflicts = () =>
    sql(`select 1 from sync_history where object_id = $1 and status = 'CONFLICT'`, [objectId]);
  await passDays(t.context, 29);
  await counts('collect-garbage');
  t.is((await conflicts()).length, 1);
  await passDays(t.context, 2);
  await counts('collect-garbage');
  t.deepEqual(await conflicts(), []);
  t.is((await device.get(`/v1/sync/${randomUUID()}/history`)).status, 404);
});
