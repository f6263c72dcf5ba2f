import test from 'ava';
import type { Client } from 'pg';
import { startVault, type TestVault, untilReady } from '../support/vault/vault.ts';
import { connectAs, createTenant } from '../support/accounts/two-tenants.ts';
import { appending } from '../support/audit/log-rows.ts';

let vault: TestVault;
let admin: Client;
let app: Client;
let service: Client;

test.before(async () => {
  vault = await startVault();
  await untilReady(vault.baseUrl);
  await createTenant(vault, 'tenant-a');
  admin = await connectAs(vault.databases.admin);
  app = await connectAs(vault.databases.app);
  service = await connectAs(vault.databases.service);
});
test.after.always(async () => {
  await Promise.all([admin.end(), app.end(), service.end()]);
  await vault.stop();
});

test.serial(
  'row-level security is on and forced on every table but the owner’s bookkeeping',
  async (t) => {
    const { rows } = await admin.query<{ name: string }>(`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'm', 'v', 'f')
      and not (relrowsecurity and relforcerowsecurity)
      and not (relkind = 'v' and reloptions @> '{security_invoker=true}')`);
    t.deepEqual(rows.map(({ name }) => name).toSorted(), [
      'audit_archive_erasures',
      'audit_archives',
      'migrations',
    ]);
    for (const client of [app, service]) {
      const read = await client.query('select name from migrations');
      t.true(read.rows.length > 0);
      for (const change of ["insert into migrations (name) values ('x')", 'delete from migrations'])
        await t.throwsAsync(client.query(change), { message: /permission denied/ });
    }
  },
);

test.serial('every policy names the logins that it applies to', async (t) => {
  const { rows } = await admin.query<{ policyname: string; roles: string[] }>(
    "select policyname, roles::text[] from pg_policies where schemaname = 'public'",
  );
  t.true(rows.length > 0);
  for (const { policyname, roles } of rows) {
    t.true(['probatio_app', 'probatio_service'].includes(roles.join()), policyname);
  }
});

test.serial(
  'neither login owns anything, bypasses row-level security or may create roles',
  async (t) => {
    const { rows } = await admin.query<Record<string, unknown>>(`
    select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication,
      (select count(*)::int from pg_class where relowner = r.oid) as tables,
      (select count(*)::int from pg_proc where proowner = r.oid) as functions,
      (select count(*)::int from pg_database where datdba = r.oid) as databases,
      (select count(*)::int from pg_auth_members where member = r.oid) as memberships
    from pg_roles r where rolname in ('probatio_app', 'probatio_service') order by rolname`);
    const nothing = {
      rolsuper: false,
      rolbypassrls: false,
      rolcreaterole: false,
      rolcreatedb: false,
      rolreplication: false,
      tables: 0,
      functions: 0,
      databases: 0,
      memberships: 0,
    };
    t.deepEqual(rows, [
      { rolname: 'probatio_app', ...nothing },
      { rolname: 'probatio_service', ...nothing },
    ]);
  },
);

test.serial('the app login inserts no entry of a signing key and no mark', async (t) => {
  const { rows } = await admin.query<{ user_id: string; tenant_id: string }>(
    'select user_id, tenant_id from audit_entries where action = $1 limit 1',
    ['account.registered'],
  );
  const [owner] = rows;
  const insert = (action: string) =>
    app.query(appending(`values (uuidv7(), $1, $2, 'key', gen_random_uuid()::text, 1, $3, '{}')`), [
      owner?.user_id,
      owner?.tenant_id,
      action,
    ]);
  await app.query('begin');
  await app.query("select set_config('app.user_id', $1, true)", [owner?.user_id]);
  await app.query("select set_config('app.tenant_id', $1, true)", [owner?.tenant_id]);
  await insert('upload.created');
  for (const action of ['key.created', 'key.retired', 'key.other', 'vault.marked']) {
    await app.query('savepoint before');
    await t.throwsAsync(insert(action), { message: /row-level security/ }, action);
    await app.query('rollback to before');
  }
  await app.query('rollback');
});

const forbidden = [
  'set role probatio_service',
  'set role probatio_owner',
  'set role postgres',
  'set session authorization probatio_service',
  'create table mine (x int)',
  'create table public.mine (x int)',
  'create schema mine',
  'create function mine() returns int language sql as $$ select 1 $$',
  'create extension dblink',
  'create policy mine on documents using (true)',
  'drop policy documents_owner on documents',
  'alter table documents disable row level security',
  'alter table documents no force row level security',
  'alter table documents owner to probatio_app',
  'alter role probatio_app bypassrls',
  'truncate documents',
  'drop table documents',
  'grant select on accounts to probatio_app',
  'update audit_log set canonical = canonical',
  'delete from audit_log',
  'truncate audit_log',
  'select * from audit_queue',
  'update audit_seals set late = late',
  'select * from accounts',
  'select * from credentials',
  'select * from registrations',
  'select * from signing_keys',
  'select * from audit_dead_letters',
  'select * from outbox',
  'update outbox set payload = payload',
  'delete from outbox',
  "insert into credentials (account_id, salt, verifier) values (gen_random_uuid(), '', '')",
  "select pg_read_file('/etc/passwd')",
  "copy documents to program 'true'",
  'select * from pg_authid',
];
for (const sql of forbidden) {
  test.serial(`the app login may not: ${sql}`, async (t) => {
    const error = await t.throwsAsync(app.query(sql));
    t.regex(error.message, /permission denied|must be (owner|superuser)|only roles with/i);
  });
}

for (const kind of ['email', 'registration', 'account.sweep']) {
  test.serial(`the app login may not insert what only the service does: ${kind}`, async (t) => {
    const promise = "insert into outbox (id, kind, payload) values (gen_random_uuid(), $1, '{}')";
    await t.throwsAsync(app.query(promise, [kind]), { message: /row-level security policy/ });
  });
}

const forbiddenToService = [
  'set role probatio_owner',
  'create table mine (x int)',
  'alter table audit_log disable row level security',
  'update signing_keys set public_key = public_key',
  'delete from signing_keys',
  'truncate audit_log',
  'delete from audit_seals',
  'update audit_seals set late = late',
];
for (const sql of forbiddenToService) {
  test.serial(`the service login may not: ${sql}`, async (t) => {
    const error = await t.throwsAsync(service.query(sql));
    t.regex(error.message, /permission denied|must be owner/);
  });
}
