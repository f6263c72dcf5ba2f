import { randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { counters } from '../../app/db/usage/quota.ts';
import { openDatabase } from '../../app/db/database.ts';
import { findDrift } from '../../app/usage/drift.ts';
import { close, createMember } from '../support/accounts/closing.ts';
import { createPerson } from '../support/documents/people.ts';
import { storeDocument } from '../support/documents/documents.ts';
import { createDevice, createObject } from '../support/sync/devices.ts';
import {
  startMaintenanceVault,
  type MaintenanceVault,
} from '../support/vault/maintenance-vault.ts';
import { countRows, shownUsage, storedUsage } from '../support/vault/usage.ts';
import { untilReady } from '../support/vault/vault.ts';
import { actAtRandom, makeOfEachKind, type Actor } from './mixed-actions.ts';

const test = anyTest as TestFn<MaintenanceVault>;

test.before(async (t) => {
  t.context = await startMaintenanceVault({ PLANS_STANDARD_OPEN_UPLOADS: '1000' });
  await untilReady(t.context.vault.baseUrl);
});
test.after.always((t) => t.context.stop());

const tasks = ['expire-uploads', 'expire-documents', 'collect-garbage'] as const;

async function createActor(t: ExecutionContext<MaintenanceVault>): Promise<Actor> {
  const { vault } = t.context;
  const { userId, api } = await createPerson(vault);
  const device = await createDevice(vault, { userId });
  return { t, api, device, sessions: [], documents: [], objects: new Map() };
}

async function maintainUntil({ run }: MaintenanceVault, over: AbortSignal): Promise<void> {
  while (!over.aborted) for (const task of tasks) await run(task);
}

async function assertCounted(t: ExecutionContext<MaintenanceVault>, userId: string, what: string) {
  const { sql } = t.context;
  const rows = await countRows(sql, userId);
  t.deepEqual(await storedUsage(sql, userId), rows, what);
  return rows;
}

/** Lets 31 days pass for everything that is stored. */
async function age({ sql }: MaintenanceVault): Promise<void> {
  const month = "interval '31 days'";
  await sql(`update upload_sessions set expires_at = expires_at - ${month},
    completed_at = completed_at - ${month}, aborted_at = aborted_at - ${month}`);
  await sql(`update document_versions set created_at = created_at - ${month}`);
  await sql(`update sync_requests set expires_at = expires_at - ${month}`);
  await sql(`update idempotency_keys set created_at = created_at - ${month}`);
  await sql(`update sync_history set expires_at = expires_at - ${month},
    recorded_at = recorded_at - ${month}`);
}

test.serial('counters equal the rows after any actions, expiry and closure', async (t) => {
  const actors = await Promise.all(Array.from({ length: 3 }, () => createActor(t)));
  // Maintenance of all users runs beside the actions of each.
  const over = new AbortController();
  const maintained = maintainUntil(t.context, over.signal);
  try {
    await Promise.all(actors.map((actor) => actAtRandom(actor, 120, 4)));
    await Promise.all(actors.map(makeOfEachKind));
  } finally {
    over.abort();
    await maintained;
  }
  const deadlocks = t.context.vault.logLines.filter((line) => line.includes('deadlock'));
  t.deepEqual(deadlocks, []);
  const total = Object.fromEntries(counters.map((name) => [name, 0]));
  for (const { api } of actors) {
    const rows = await assertCounted(t, api.caller.userId, 'after the actions');
    t.deepEqual(await shownUsage(api), rows);
    for (const name of counters) total[name] = (total[name] ?? 0) + rows[name];
  }
  for (const name of counters) t.true((total[name] ?? 0) > 0, `nothing was counted as ${name}`);

  await age(t.context);
  for (const task of tasks) await t.context.counts(task);
  for (const task of tasks) await t.context.counts(task);
  for (const { api } of actors) {
    const { keptAnswers, openUploads } = await assertCounted(t, api.caller.userId, 'after a month');
    t.deepEqual({ keptAnswers, openUploads }, { keptAnswers: 0, openUploads: 0 });
  }
  const { app: url, service: serviceUrl } = t.context.vault.databases;
  const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
  t.teardown(() => db.close());
  t.deepEqual(await db.asService(findDrift), []);
});

test.serial('a closed account keeps nothing', async (t) => {
  const { vault } = t.context;
  const member = await createMember(vault);
  await storeDocument(t, member.api);
  const device = await createDevice(vault, { userId: member.userId });
  await createObject(device, { a: 1 });
  t.like(await assertCounted(t, member.userId, 'before'), { documents: 1, syncObjects: 1 });
  t.is((await close(vault, member)).status, 204);
  const left = await assertCounted(t, member.userId, 'after');
  t.deepEqual(new Set(Object.values(left)), new Set([0]));
});

test.serial('a user is counted apart in each tenant', async (t) => {
  const { vault, sql } = t.context;
  const userId = randomUUID();
  const here = await createDevice(vault, { userId });
  const there = await createDevice(vault, { userId, tenantId: 'elsewhere' });
  await createObject(here, { a: 1 });
  await createObject(there, { a: 1 });
  await createObject(there, { a: 1 });
  t.is((await shownUsage(here.api)).syncObjects, 1);
  t.is((await shownUsage(there.api)).syncObjects, 2);
  t.is((await storedUsage(sql, userId)).syncObjects, 3);
});

test.serial(
  'a transaction that is rolled back, wholly or to a savepoint, counts nothing',
  async (t) => {
    const { vault, sql } = t.context;
    const { userId } = await createPerson(vault);
    const insert = `insert into devices (user_id, tenant_id, device_id)
    values ('${userId}', 'default', gen_random_uuid())`;
    await sql(`begin; ${insert}; rollback`);
    t.is((await storedUsage(sql, userId)).devices, 0);
    await sql(`begin; savepoint a; ${insert}; rollback to a; ${insert}; ${insert}; commit`);
    t.is((await storedUsage(sql, userId)).devices, 2);
    await sql(`begin; ${insert}; savepoint a; ${insert}; rollback to a; commit`);
    t.is((await storedUsage(sql, userId)).devices, 3);
  },
);
