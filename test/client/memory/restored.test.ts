import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import type { OpenAccount } from '../../../client/demo/steps/account.ts';
import { addVersion } from '../../../client/documents/add-version.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { createDeviceKey } from '../../../client/keys/device-key.ts';
import { RolledBackError } from '../../../client/memory/values/rolled-back-error.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createTestMemory } from '../../support/client/memory-store.ts';
import { sourceOf, storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { tellRestored } from '../../sync/restored.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault; readonly sql: Sql }>;

test.before(async (t) => {
  const vault = await startReadyVault();
  t.context = { vault, sql: createSql(vault) };
});
test.after.always((t) => t.context.vault.stop());

const tables = ['documents', 'document_versions', 'memory_records'];

/** Backs up a user's documents and records, and returns the function that puts them back. */
async function backUp(sql: Sql, userId: string): Promise<() => Promise<void>> {
  const backups = await Promise.all(
    tables.map(async (table) => {
      const [row] = await sql(
        `select coalesce(json_agg(t), '[]')::text as rows from ${table} t where user_id = $1`,
        [userId],
      );
      return { table, rows: String(row?.['rows']) };
    }),
  );
  return async () => {
    for (const { table, rows } of backups) {
      await sql(`delete from ${table} where user_id = $1`, [userId]);
      await sql(`insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
        rows,
      ]);
    }
  };
}

/** Logs in on a new device, with a memory that lasts. */
async function addDevice(
  vault: TestVault,
  { credentials }: OpenAccount,
): Promise<VaultSession & { readonly deviceId: string }> {
  const session = await connect(vault).login({ ...credentials, memory: createTestMemory() });
  const key = createDeviceKey();
  await session.devices.add({ ...key, name: 'Laptop', platform: 'Firefox' });
  return Object.assign(session, { deviceId: key.deviceId });
}

async function open(session: VaultSession, id: string) {
  const keys = await session.envelopes.openMasterKeys();
  return openDocument(toolsOf(session), { id, ...keys });
}

async function addNext(session: VaultSession, id: string): Promise<void> {
  const keys = await session.envelopes.openMasterKeys();
  await addVersion(toolsOf(session), { id, ...keys, source: sourceOf(new Uint8Array(20)) });
}

async function assertRolledBack(t: ExecutionContext, work: Promise<unknown>) {
  const error = await t.throwsAsync(work, { instanceOf: RolledBackError });
  return error instanceof RolledBackError ? error : t.fail();
}

test('a restored vault is told apart, and accepted once for all devices', async (t) => {
  const { vault, sql } = t.context;
  const user = await createUser(vault, connect(vault));
  const { document } = await storeBytes(user, 10);
  const { id } = document;
  const [one, other] = [await addDevice(vault, user), await addDevice(vault, user)];
  for (const session of [one, other]) {
    await open(session, id);
    await session.memory.exchange();
  }
  const [row] = await sql('select user_id from documents where id = $1', [id]);
  const restore = await backUp(sql, String(row?.['user_id']));
  await addNext(one, id);
  for (const session of [one, other]) {
    await open(session, id);
    await session.memory.exchange();
  }
  t.deepEqual(await one.listRestores(), []);

  await restore();
  await tellRestored(vault);
  const error = await assertRolledBack(t, open(one, id));
  t.is(error.state?.version, 1);
  const [restored] = await untilSealed(one);
  t.true((restored?.sealedAt.getTime() ?? 0) > Date.parse(document.createdAt));
  await one.memory.acceptDocument(error);
  t.is((await open(one, id)).version, 1);
  await one.memory.exchange();
  await assertRolledBack(t, open(other, id));
  await other.memory.exchange();
  t.is((await open(other, id)).version, 1);

  // Both go on from the accepted state, and notice when the vault goes back again.
  const again = await backUp(sql, String(row?.['user_id']));
  await addNext(other, id);
  await other.memory.exchange();
  await one.memory.exchange();
  await again();
  for (const session of [one, other]) await assertRolledBack(t, open(session, id));
});

test('reports that a restored vault lost are accepted once for all devices', async (t) => {
  const { vault, sql } = t.context;
  const user = await createUser(vault, connect(vault));
  const { document } = await storeBytes(user, 10);
  const { id } = document;
  const [row] = await sql('select user_id from documents where id = $1', [id]);
  const userId = String(row?.['user_id']);
  const [gone, here] = [await addDevice(vault, user), await addDevice(vault, user)];
  const seeNext = async (session: VaultSession) => {
    await addNext(session, id);
    await session.memory.exchange();
  };
  await seeNext(gone);
  const restore = await backUp(sql, userId);
  await seeNext(gone);
  await here.memory.exchange();
  await restore();
  // A device that has read what is lost tells everything anew, and so that it was there.
  await here.memory.registeredDevice(crypto.randomUUID());
  await here.memory.exchange();

  const other = await addDevice(vault, user);
  const error = await assertRolledBack(t, other.memory.exchange());
  t.like(error, { subject: 'memory', number: 2 });
  t.is(error.id, gone.deviceId);
  await other.memory.acceptReports(error);
  await other.memory.exchange();
  const third = await addDevice(vault, user);
  await third.memory.exchange();

  // The device lost its memory too, and tells another report of the same number.
  const { credentials } = user;
  const again = { ...credentials, deviceId: gone.deviceId, memory: createTestMemory() };
  const back = await connect(vault).login(again);
  await back.memory.registeredDevice(crypto.randomUUID());
  await back.memory.exchange();
  for (const session of [here, other, third]) await session.memory.exchange();

  // A later report was not accepted as lost.
  await back.memory.registeredDevice(crypto.randomUUID());
  await back.memory.exchange();
  await here.memory.registeredDevice(crypto.randomUUID());
  await here.memory.exchange();
  await sql('delete from memory_records where user_id = $1 and writer = $2 and number = 3', [
    userId,
    gone.deviceId,
  ]);
  const late = await addDevice(vault, user);
  t.is((await assertRolledBack(t, late.memory.exchange())).number, 3);

  const list = Object.assign(Object.create(error) as RolledBackError, { number: undefined });
  await t.throwsAsync(other.memory.acceptReports(list), { instanceOf: TypeError });
});

test('a report left out among those whose loss the user accepted is missed', async (t) => {
  const { vault, sql } = t.context;
  const user = await createUser(vault, connect(vault));
  const [teller, reader] = [await addDevice(vault, user), await addDevice(vault, user)];
  for (let told = 0; told < 3; told += 1) {
    await teller.memory.registeredDevice(crypto.randomUUID());
    await teller.memory.exchange();
  }
  await reader.memory.registeredDevice(crypto.randomUUID());
  await reader.memory.exchange();
  const take = async (number: number) => {
    const [row] = await sql(
      `delete from memory_records r where writer = $1 and number = $2
       returning row_to_json(r)::text as record`,
      [teller.deviceId, number],
    );
    return String(row?.['record']);
  };
  const last = await take(3);
  const other = await addDevice(vault, user);
  const error = await assertRolledBack(t, other.memory.exchange());
  t.is(error.number, 3);
  await other.memory.acceptReports(error);
  await other.memory.exchange();

  await take(2);
  await sql(
    'insert into memory_records select * from json_populate_record(null::memory_records, $1)',
    [last],
  );
  const late = await addDevice(vault, user);
  t.is((await assertRolledBack(t, late.memory.exchange())).number, 3);
});

/** Waits until the entry of the restore is sealed. */
function untilSealed(session: VaultSession) {
  const list = async () => {
    const restores = await session.listRestores();
    return restores.length > 0 && restores;
  };
  return until(list, { what: 'the sealed restore', timeoutMs: 30_000 });
}
