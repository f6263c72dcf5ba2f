import { randomUUID } from 'node:crypto';
import test from 'ava';
import { moveToTenant } from '../../app/lifecycle/grants/tenant-move.ts';
import { fates } from '../../app/lifecycle/owned-rows.ts';
import { openDatabase } from '../../app/db/database.ts';
import { sweepNow } from '../support/accounts/closing.ts';
import { createRecoverable } from '../support/accounts/recovery-account.ts';
import { send } from '../support/http/send.ts';
import { createApi } from '../support/documents/uploads.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { ask, createDevice, logInAgain, reauthHeader } from '../support/accounts/owner.ts';

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

const tables = Object.entries(fates)
  .filter(([, { closure }]) => closure === 'keys' || closure === 'data')
  .map(([name]) => name);

async function rowsOf(userId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const [row] = await sql(`select count(*)::int as n from ${table} where user_id = $1`, [userId]);
    if (row?.['n'] !== 0) counts[table] = Number(row?.['n']);
  }
  return counts;
}

/** Inserts rows of synchronisation, a job and a device binding of another issuer's session. */
async function shareSomething(userId: string, deviceId: string): Promise<void> {
  const inserts = [
    `session_devices (id, user_id, tenant_id, issuer, sid, device_id)
     values ($2, $1, 'default', 'https://issuer.test', 'a', $3)`,
    `sync_counters (user_id, tenant_id, last_change)
     select $1, 'default', 1 where $2::uuid <> $3::uuid`,
    `sync_objects (user_id, tenant_id, object_id, version, data, change_seq, last_modified_at)
     select $1, 'default', $2, 1, '{}', 1, now() where $2::uuid <> $3::uuid`,
    `sync_history (user_id, tenant_id, id, object_id, version, status, device_id, changed_at)
     values ($1, 'default', $2, $2, 1, 'APPLIED', $3, now())`,
    `replaced_keys (user_id, tenant_id, id, kind, version, wrapped_key, replaced_at)
     select $1, 'default', $2, 'MASTER', 1, '', now() where $2::uuid <> $3::uuid`,
    `sender_blocks (user_id, tenant_id, sender_id)
     select $1, 'default', $2 where $2::uuid <> $3::uuid`,
    `memory_records (user_id, tenant_id, writer, number, record)
     select $1, 'default', $2, 1, '' where $2::uuid <> $3::uuid`,
    `jobs (user_id, tenant_id, id, type, request_id, available_at)
     select $1, 'default', $2, 'EMAIL_VALIDATION', $2, now() + interval '1 day'
     where $2::uuid <> $3::uuid`,
    `sync_requests (user_id, tenant_id, request_id, digest, answer, expires_at)
     select $1, 'default', $2, '', '{}', now() where $2::uuid <> $3::uuid`,
  ];
  for (const insert of inserts) {
    await sql(`insert into ${insert}`, [userId, randomUUID(), deviceId]);
  }
}

test('a closed account leaves no key, no device and nothing that its devices shared', async (t) => {
  const owner = await createRecoverable(vault);
  const { userId, token } = owner;
  const revoked = await createDevice(vault, token);
  const elsewhere = await createApi(vault, { userId });
  await ask(vault, elsewhere.token, 'DELETE', `/devices/${revoked}`);
  const api = await createApi(vault, { userId });
  const deviceId = await createDevice(vault, api.token);
  await shareSomething(userId, deviceId);
  t.is(Object.keys(await rowsOf(userId)).length, tables.length);

  const closing = await logInAgain(vault, owner.account);
  const headers = await reauthHeader(vault, closing);
  const url = `${vault.baseUrl}/v1/auth/account`;
  t.is((await send('DELETE', url, { token: closing.token, headers })).status, 204);
  t.deepEqual(await rowsOf(userId), {});
  t.deepEqual(await sql('select 1 from credentials where account_id = $1', [userId]), []);
  const [entry] = await sql(
    `select canonical from audit_entries where user_id = $1 and action = 'account.closed'`,
    [userId],
  );
  t.like(JSON.parse(String(entry?.['canonical'])), {
    data: { envelopes: 3, devices: 2, syncObjects: 1 },
  });

  await shareSomething(userId, await createDevice(vault, api.token));
  await sweepNow(vault);
  t.deepEqual(await rowsOf(userId), {}, 'later rows are swept away');
});

test('a user with devices cannot be moved to another tenant', async (t) => {
  const { userId, token } = await createRecoverable(vault);
  await createDevice(vault, token);
  const db = await openDatabase(vault.config.database);
  t.teardown(() => db.close());
  await t.throwsAsync(
    db.asService((tx) => moveToTenant(tx, userId, 'other')),
    { message: /devices, key_envelopes/ },
  );
});
