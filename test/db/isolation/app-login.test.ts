import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { Client } from 'pg';
import { until } from '../../../app/dev/processes/until.ts';
import { connectAs, createTenant, type Tenant } from '../../support/accounts/two-tenants.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

let vault: TestVault;
let sql: Sql;
let app: Client;
let service: Client;
let owner: Tenant;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
  owner = await createTenant(vault, 'tenant-a');
  await until(
    async () => (await sql("select from audit_entries where state = 'PENDING'")).length === 0,
    {
      what: 'all entries to be sealed',
      timeoutMs: 60_000,
    },
  );
  const { userId, tenantId } = owner;
  await sql('update login_sessions set revoked_at = now() where user_id = $1', [userId]);
  await sql(
    `insert into devices (user_id, tenant_id, device_id, revoked_at)
     values ($1, $2, gen_random_uuid(), now())`,
    [userId, tenantId],
  );
  app = await connectAs(vault.databases.app);
  service = await connectAs(vault.databases.service);
});
test.after.always(async () => {
  await Promise.all([app.end(), service.end()]);
  await vault.stop();
});

/** Runs statements as somebody would who injects SQL, as the owner of the rows; rolls them back. */
async function attack(client: Client, ...statements: readonly string[]): Promise<number> {
  await client.query('begin');
  try {
    await client.query(
      "select set_config('app.user_id', $1, true), set_config('app.tenant_id', $2, true)",
      [owner.userId, owner.tenantId],
    );
    let rows = 0;
    for (const statement of statements) rows = (await client.query(statement)).rowCount ?? 0;
    return rows;
  } finally {
    await client.query('rollback');
  }
}

const entry = (columns: string, values: string) => `
  insert into audit_log (id, user_id, tenant_id, trail_id, seq, action, canonical${columns})
  select uuidv7(), user_id, tenant_id, id, last_seq, 'document.sealed', '{}'${values}
  from audit_trails limit 1`;

const sealedKey = `(select storage_key from document_versions where status = 'SEALED' limit 1)`;
const promise = `insert into outbox (id, kind, payload)
  values (gen_random_uuid(), 'object.delete',
    json_build_object('key', ${sealedKey}, 'version', '')::text)`;

/** Attempts of an attacker who runs SQL on the app login, by what they would achieve. */
const attacks: Readonly<Record<string, readonly string[]>> = {
  'create a temporary table, which hides the real one from the next request': [
    'create temporary table documents (like public.documents)',
  ],
  'create a large object': ['select lo_create(0)'],
  'write a large object': ["select lo_from_bytea(0, 'evidence')"],
  'insert a seal': [
    `insert into audit_seals (entry_id, hash, signature, key_id, sealed_at, late)
     select id, sha256(''), sha256(''), sha256(''), now(), false from audit_log limit 1`,
  ],
  'insert an entry that was recorded before': [entry(', created_at', ", now() - interval '1 day'")],
  'queue an entry with a lease that does not end': [
    `insert into audit_queue (entry_id, user_id, is_tallied, claimed_until)
     select id, user_id, false, 'infinity' from audit_log limit 1`,
  ],
  'queue an entry again': [
    `insert into audit_queue (entry_id, user_id, is_tallied)
     select id, user_id, false from audit_log limit 1`,
  ],
  'take an entry out of the queue': ['delete from audit_queue'],
  'see which entries wait': ['select from audit_queue'],
  'read why an entry is dead': ['select reason from audit_dead_letters'],
  'change the text of a sealed entry': ["update audit_log set canonical = '{}'"],
  'change the hash of a sealed entry': ["update audit_seals set hash = sha256('')"],
  'change the metadata of a sealed version': [
    "update document_versions set encrypted_metadata = 'QUJD' where status = 'SEALED'",
  ],
  'change the hash of a sealed version': [
    "update document_versions set file_hash = repeat('0', 64) where status = 'SEALED'",
  ],
  'let a sealed version count as unsealed': [
    `update document_versions set status = 'PENDING', proof_id = null, sealed_at = null
     where status = 'SEALED'`,
  ],
  'insert a version that seems sealed': [
    `insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
       object_version, file_size, file_hash, encrypted_metadata, status, sealed_at, proof_id)
     select document_id, 900, user_id, tenant_id, 'key', '', 1, 'hash', '', 'SEALED', now(),
       gen_random_uuid() from document_versions limit 1`,
  ],
  'delete a sealed version': ["delete from document_versions where status = 'SEALED'"],
  'delete the document of a sealed version': [
    `delete from documents where id in (
       select document_id from document_versions where status = 'SEALED')`,
  ],
  'hide a sealed version in another tenant, and delete its document there': [
    `update documents set tenant_id = set_config('app.tenant_id', 'elsewhere', true)
     where id in (select document_id from document_versions where status = 'SEALED')`,
    'delete from documents',
  ],
  'promise the deletion of a sealed version’s object': [promise],
  'set a trail back': ['update audit_trails set last_seq = last_seq - 1'],
  'skip numbers of a trail': ['update audit_trails set last_seq = last_seq + 2'],
  'give the trail of a resource to another': ["update audit_trails set resource_id = 'other'"],
  'give a trail the key of another': ['update audit_trails set id = default'],
  'restart a trail': ['delete from audit_trails'],
  'begin a trail late': [
    `insert into audit_trails (user_id, tenant_id, resource_type, resource_id, last_seq)
     select user_id, tenant_id, 'document', 'late', 7 from audit_trails limit 1`,
  ],
  'undo the revocation of a session': [
    'update login_sessions set revoked_at = null where revoked_at is not null',
  ],
  'date a revocation back, so that no process notices it': [
    "update login_sessions set revoked_at = '2000-01-01' where revoked_at is not null",
  ],
  'give a revoked session another id': [
    'update login_sessions set id = gen_random_uuid() where revoked_at is not null',
  ],
  'prolong a session': ["update login_sessions set expires_at = 'infinity'"],
  'read the hash of a refresh token': ['select refresh_hash from login_sessions'],
  'give a session a refresh token of its own': [
    "update login_sessions set refresh_hash = sha256('mine'), refresh_generation = 1",
  ],
  'invent a session': [
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at)
     select gen_random_uuid(), user_id, tenant_id, now(), 'infinity' from documents limit 1`,
  ],
  'undo the revocation of a device': [
    'update devices set revoked_at = null where revoked_at is not null',
  ],
  'forget a revoked device': ['delete from devices where revoked_at is not null'],
  'unbind a session of another issuer from its device': ['delete from session_devices'],
};

for (const [what, statements] of Object.entries(attacks)) {
  test.serial(`the app login cannot ${what}`, async (t) => {
    await t.throwsAsync(attack(app, ...statements), { code: '42501' });
  });
}

/** Changes of sealed and revoked rows that the service login has no need for. */
const forbiddenToService: Readonly<Record<string, string>> = {
  'change the hash of a sealed entry': "update audit_seals set hash = sha256('')",
  'change the text of a sealed entry': "update audit_log set canonical = '{}'",
  'delete an entry': 'delete from audit_log',
  'delete a seal': 'delete from audit_seals',
  'change a sealed version': "update document_versions set file_hash = '' where status = 'SEALED'",
  'remove a trail': 'delete from audit_trails',
  'set a trail back': 'update audit_trails set last_seq = 0',
  'undo the revocation of a session': 'update login_sessions set revoked_at = null',
  'undo the revocation of a device': 'update devices set revoked_at = null',
  'create a temporary table': 'create temporary table documents (like public.documents)',
};
for (const [what, statement] of Object.entries(forbiddenToService)) {
  test.serial(`the service login cannot ${what}`, async (t) => {
    await t.throwsAsync(attack(service, statement), { code: '42501' });
  });
}

test.serial('the app login may do what the app needs beside these', async (t) => {
  const allowed = [
    `update document_versions set encrypted_metadata = 'QUJD' where status <> 'SEALED'`,
    'update audit_trails set last_seq = last_seq + 1',
    'update login_sessions set revoked_at = now() where revoked_at is null',
    'update devices set revoked_at = now() where revoked_at is null',
    "insert into outbox (id, kind, payload) values (gen_random_uuid(), 'object.delete', '{}')",
  ];
  for (const statement of allowed) await t.notThrowsAsync(attack(app, statement), statement);
});

test.serial(
  'a promise that precedes the sealing, or hides its owner, deletes nothing',
  async (t) => {
    const [file] = await sql(
      `select storage_key as key, object_version as version from document_versions
     where user_id = $1 and status = 'SEALED' limit 1`,
      [owner.userId],
    );
    // As somebody else, who does not see the version.
    const id = randomUUID();
    await app.query(
      "insert into outbox (id, kind, payload) values ($1, 'object.delete', $2::json::text)",
      [id, JSON.stringify(file)],
    );
    await until(async () => (await sql('select from outbox where id = $1', [id])).length === 0, {
      what: 'the message to be handled',
      timeoutMs: 60_000,
    });
    t.true(vault.logLines.some((line) => line.includes('refers to the object')));
    const [sealed] = await sql(
      `select document_id as id from document_versions where storage_key = $1`,
      [file?.['key']],
    );
    t.truthy(sealed);
    const { storage } = vault.config;
    t.is(storage.driver, 'filesystem');
    const token = await vault.tokens.access({
      ...owner,
      plan: 'standard',
      roles: ['user'],
      scopes: ['documents:read'],
      sessionId: randomUUID(),
    });
    const download = await fetch(
      `${vault.baseUrl}/v1/documents/${String(sealed?.['id'])}/download`,
      {
        headers: { authorization: `Bearer ${token}` },
      },
    );
    t.is(download.status, 200);
    t.is((await download.bytes()).length, 64);
  },
);
