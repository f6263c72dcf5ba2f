import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { Client } from 'pg';
import { connectOwner, migrate } from '../../app/db/migrate.ts';
import { databaseAt, upgrade } from './old-database.ts';

async function addEntries(client: Client, userId: string): Promise<void> {
  await client.query(
    `insert into audit_entries (id, user_id, tenant_id, resource_type, resource_id, seq, action,
       canonical, state, hash, signature, key_id, sealed_at)
     select uuidv7(make_interval(days => -n)), $1, 'default', 'document', n % 10, n / 10,
       'document.created', '{}', 'SEALED', '${'ab'.repeat(32)}', 'MEUCIQ==', '02', now()
     from generate_series(10, 109) n`,
    [userId],
  );
  await client.query(
    `insert into audit_entries (id, user_id, tenant_id, resource_type, resource_id, seq, action,
       canonical, state)
     values
       (uuidv7(), $1, 'default', 'account', 'a', 1, 'account.activated', '{}', 'PENDING'),
       (uuidv7(), $1, 'default', 'account', 'a', 2, 'auth.login', '{}', 'DEAD')`,
    [userId],
  );
  await client.query(
    `insert into audit_dead_letters (entry_id, reason, attempts)
     select id, 'not_canonical', 5 from audit_entries where state = 'DEAD'`,
  );
  await client.query(
    `insert into audit_sequences (user_id, tenant_id, resource_type, resource_id, last_seq)
     select user_id, tenant_id, resource_type, resource_id, max(seq) from audit_entries
     group by user_id, tenant_id, resource_type, resource_id`,
  );
}

test('log, keys, accounts and envelopes of the previous release are migrated', async (t) => {
  const { owner, client } = await databaseAt(t, 'Migration0004Documents');
  const userId = randomUUID();
  await client.query(
    `insert into signing_keys (key_id, purpose, algorithm, public_key, generation)
     values ('01', 'audit', 'a', 'p1', 1), ('02', 'audit', 'a', 'p2', 2),
       ('token-1', 'token', 'a', 'p3', 1)`,
  );
  await addEntries(client, userId);
  await client.query(
    `insert into accounts (id, tenant_id, email, status, plan, roles, scopes)
     values ($1, 'default', 'ada@example.com', 'ACTIVE', 'standard', '{user}', '{}')`,
    [userId],
  );
  await client.query(
    `insert into credentials (account_id, salt, verifier) values ($1, 'salt', 'verifier')`,
    [userId],
  );
  await client.query(
    `insert into key_envelopes (id, user_id, tenant_id, kind, encrypted_envelope)
     values (gen_random_uuid(), $1, 'default', 'MASTER', 'wrapped')`,
    [userId],
  );
  const entries = `select id, resource_type, resource_id, seq, canonical, state, hash, signature,
    key_id, sealed_at, created_at from audit_entries order by id`;
  const before = (await client.query(entries)).rows;

  await upgrade(t, owner);

  t.is(before.length, 102);
  t.deepEqual((await client.query(entries)).rows, before);
  const { rows: keys } = await client.query(
    `select key_id, state, activated_at = registered_at as from_start,
       retired_at is not null as is_retired from signing_keys order by key_id`,
  );
  t.deepEqual(keys, [
    { key_id: '01', state: 'RETIRED', from_start: true, is_retired: true },
    { key_id: '02', state: 'ACTIVE', from_start: true, is_retired: false },
    { key_id: 'token-1', state: 'ACTIVE', from_start: true, is_retired: false },
  ]);
  const one = async (query: string) => (await client.query(query)).rows[0] as unknown;
  t.deepEqual(await one('select sum(sealed)::int as sealed from audit_totals'), { sealed: 100 });
  t.deepEqual(await one('select count(*)::int as count from audit_sequences'), { count: 11 });
  t.deepEqual(await one('select status, attempts from audit_dead_letters'), {
    status: 'PENDING',
    attempts: 5,
  });
  t.deepEqual(await one('select method, salt, verifier from credentials'), {
    method: 'password',
    salt: 'salt',
    verifier: 'verifier',
  });
  t.deepEqual(await one('select kind, encrypted_envelope, device_id from key_envelopes'), {
    kind: 'MASTER',
    encrypted_envelope: 'wrapped',
    device_id: null,
  });
});

test('a document from before versions becomes its own first version', async (t) => {
  const { owner, client } = await databaseAt(t, 'Migration0003Access');
  await client.query(
    `insert into documents (id, user_id, tenant_id, storage_key, object_version, file_size,
       file_hash, encrypted_metadata, status, sealed_at, proof_id)
     select gen_random_uuid(), gen_random_uuid(), 'default', 'key-' || n, 'v', n, 'hash-' || n, 'm',
       'SEALED', now(), gen_random_uuid()
     from generate_series(1, 3) n`,
  );
  await upgrade(t, owner);
  const { rows } = await client.query(
    `select v.version, v.storage_key, v.file_hash, v.file_size::int, v.status
     from document_versions v join documents d on d.id = v.document_id and d.user_id = v.user_id
     order by v.storage_key`,
  );
  t.deepEqual(
    rows,
    [1, 2, 3].map((n) => ({
      version: 1,
      storage_key: `key-${n}`,
      file_hash: `hash-${n}`,
      file_size: n,
      status: 'SEALED',
    })),
  );
});

test('documents from before chosen ids are listed in the order of their ids', async (t) => {
  const { owner, client } = await databaseAt(t, 'Migration0033Encryption');
  await client.query(
    `with made as (
       insert into documents (id, user_id, tenant_id)
       select gen_random_uuid(), gen_random_uuid(), 'default' from generate_series(1, 3)
       returning id, user_id
     )
     insert into document_keywords (user_id, tenant_id, keyword_hash, document_id)
     select user_id, 'default', 'hash', id from made`,
  );
  await upgrade(t, owner);
  const { rows } = await client.query(
    `select d.place = d.id and k.place = d.id as "isSame"
     from documents d join document_keywords k on k.document_id = d.id`,
  );
  t.deepEqual(rows, [{ isSame: true }, { isSame: true }, { isSame: true }]);
  await client.query('delete from documents');
  const removed = await client.query('select count(*)::int as count from removed_documents');
  t.deepEqual(removed.rows, [{ count: 3 }]);
});

test('rows of the previous release are counted, and long histories expire', async (t) => {
  const { owner, client } = await databaseAt(t, 'Migration0011SyncRequests');
  const userId = randomUUID();
  await client.query(
    `insert into sync_objects
       (user_id, tenant_id, object_id, version, data, change_seq, last_modified_at)
     values ($1, 'default', $1, 150, '{"a":1}', 150, now())`,
    [userId],
  );
  await client.query(
    `insert into sync_history (id, user_id, tenant_id, object_id, version, status, conflict_type,
       device_id, changed_at, changed_fields)
     select gen_random_uuid(), $1::uuid, 'default', $1::uuid, n, 'APPLIED', null, $1::uuid, now(),
       '["/a"]'
     from generate_series(1, 150) n
     union all
     select gen_random_uuid(), $1, 'default', $1, 9, 'CONFLICT', 'VERSION_AHEAD', $1, now(),
       '[]'`,
    [userId],
  );
  await client.query(
    `insert into sync_requests (user_id, tenant_id, request_id, digest, answer, expires_at)
     values ($1, 'default', $1, '', '{}', now() + interval '1 day')`,
    [userId],
  );
  await upgrade(t, owner);
  const { rows } = await client.query(
    `select sync_objects::int, sync_object_bytes::int, history_entries::int, history_bytes::int,
       kept_answers::int, devices::int from usage where user_id = $1`,
    [userId],
  );
  t.deepEqual(rows, [
    {
      sync_objects: 1,
      sync_object_bytes: 7,
      history_entries: 151,
      history_bytes: 902,
      kept_answers: 0,
      devices: 0,
    },
  ]);
  const expiring = await client.query(
    'select max(version) as newest, count(*)::int from sync_history where expires_at is not null',
  );
  t.deepEqual(expiring.rows, [{ newest: 50, count: 51 }]);
});

test('sessions of earlier refresh tokens end with their access tokens', async (t) => {
  const { owner, client } = await databaseAt(t, 'Migration0048Downloads');
  const [refreshed, recovery] = [randomUUID(), randomUUID()];
  await client.query(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at)
     select id, gen_random_uuid(), 'default', now(), now() + interval '30 days'
     from unnest($1::uuid[]) id`,
    [[refreshed, recovery]],
  );
  await client.query(
    `insert into refresh_tokens (token_hash, session_id, expires_at, used_at, successor_hash)
     values (repeat('a', 64), $1, now() + interval '30 days', now(), repeat('b', 64)),
       (repeat('b', 64), $1, now() + interval '30 days', null, null)`,
    [refreshed],
  );
  await upgrade(t, owner);
  const { rows } = await client.query(
    `select id, refresh_generation as generation, encode(refresh_hash, 'hex') as hash,
       expires_at < now() + interval '1 hour' as "isEnding"
     from login_sessions order by id = $1 desc`,
    [refreshed],
  );
  t.deepEqual(rows, [
    { id: refreshed, generation: 1, hash: 'b'.repeat(64), isEnding: true },
    { id: recovery, generation: 0, hash: null, isEnding: false },
  ]);
});

test('a migration fails rather than overlook rows hidden by row-level security', async (t) => {
  const { owner } = await databaseAt(t, 'Migration0004Documents');
  const orm = await connectOwner(owner);
  t.teardown(() => orm.close());
  await t.throwsAsync(orm.em.getConnection().execute('select count(*) from documents'), {
    message: /row-level security/,
  });
});

test('after the migrations row-level security is forced on every table again', async (t) => {
  const { owner, client } = await databaseAt(t, 'Migration0001Tables');
  await migrate(owner);
  const { rows } = await client.query(
    `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migrations'
       and not (relrowsecurity and relforcerowsecurity)`,
  );
  t.deepEqual(rows, []);
});

test('the runs of the purge become those of maintenance, and messages stay unparked', async (t) => {
  const { owner, client } = await databaseAt(t, 'Migration0048Downloads');
  await client.query(
    `insert into purge_runs (id, requested_by, dry_run, purged_accounts, removed_audit_traces,
       removed_emails, started_at, completed_at)
     values
       ('00000000-0000-7000-8000-000000000001', 'cron', false, 3, 2, 1, '2026-01-01', '2026-01-02'),
       ('00000000-0000-7000-8000-000000000002', 'cron', true, 1, 0, 0, '2026-01-03', null)`,
  );
  await client.query(
    `insert into outbox (id, kind, payload, attempts)
     values (gen_random_uuid(), 'email', '{}', 40), (gen_random_uuid(), 'email', '{}', 2)`,
  );

  await upgrade(t, owner);

  const { rows: runs } = await client.query(
    `select task, dry_run, requested_by, counts::jsonb as counts, ended_at is not null as has_ended,
       held_until <= now() as has_lost_lease, error from maintenance_runs order by id`,
  );
  const common = { task: 'purge-accounts', requested_by: 'cron', error: null };
  t.deepEqual(runs, [
    {
      ...common,
      dry_run: false,
      counts: { purgedAccounts: 3, removedAuditTraces: 2, removedEmails: 1 },
      has_ended: true,
      has_lost_lease: null,
    },
    {
      ...common,
      dry_run: true,
      counts: { purgedAccounts: 1, removedAuditTraces: 0, removedEmails: 0 },
      has_ended: false,
      has_lost_lease: true,
    },
  ]);
  const { rows: messages } = await client.query(
    'select attempts, parked_at from outbox order by attempts',
  );
  t.deepEqual(messages, [
    { attempts: 2, parked_at: null },
    { attempts: 19, parked_at: null },
  ]);
});
