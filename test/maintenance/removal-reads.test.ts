import { randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { sql as query } from 'kysely';
import { removeOldAddresses } from '../../app/auth/login/known-client-addresses.ts';
import { openDatabase, type Database, type Tx } from '../../app/db/database.ts';
import { removeOldBindings } from '../../app/devices/expired-bindings.ts';
import { lockUnsealed } from '../../app/documents/remove-unsealed.ts';
import { removeOldKeys } from '../../app/idempotency/expired-keys.ts';
import { removeWaitingMails } from '../../app/outbox/waiting.ts';
import { removeOldReplaced } from '../../app/replaced-keys/rows/replaced-keys.ts';
import { removeEndedSessions, removeExpiredSessions } from '../../app/sessions/kept-sessions.ts';
import { removeSharing } from '../../app/sharing/removal.ts';
import { removeOldHistory } from '../../app/sync/objects/expired-history.ts';
import { removeOldRequests } from '../../app/sync/objects/expired-requests.ts';
import { findUnused, removeUnusedOf } from '../../app/uploads/cleanup/unused-uploads.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import { createSql } from '../support/vault/sql.ts';

interface Context {
  readonly vault: TestVault;
  readonly db: Database;
}

const test = anyTest as TestFn<Context>;

const kept = 20_000;
const removable = 30;
const limit = 10;
const owner = { userId: randomUUID(), tenantId: 'default' };

/** Inserts `kept` rows that stay and `removable` that do not, with ids and owners of their own. */
const inserts: readonly string[] = [
  `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at, revoked_at)
   select gen_random_uuid(), gen_random_uuid(), 'default', now(),
     now() + (case when n > ${removable} then 20 else -40 end) * interval '1 day',
     case when n % 2 = 0 and n > ${removable} then now() end
   from rows`,
  `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at, revoked_at)
   select gen_random_uuid(), gen_random_uuid(), 'default', now(), now() + interval '9 days',
     now() - interval '2 days' from rows where n <= ${removable}`,
  `insert into known_addresses
   select gen_random_uuid(), n, now() - (case when n > ${removable} then 1 else 90 end) *
     interval '1 day' from rows`,
  `insert into idempotency_keys
     (user_id, key_hash, tenant_id, request_hash, claim_id, claimed_until, created_at)
   select gen_random_uuid(), n, 'default', '', gen_random_uuid(), now(),
     now() - (case when n > ${removable} then 1 else 90 end) * interval '1 hour' from rows`,
  `insert into sync_requests (user_id, request_id, tenant_id, digest, answer, expires_at)
   select gen_random_uuid(), gen_random_uuid(), 'default', '', '{}',
     now() + (case when n > ${removable} then 1 else -1 end) * interval '1 hour' from rows`,
  `insert into sync_history (id, user_id, tenant_id, object_id, version, status, device_id,
     changed_at, expires_at)
   select gen_random_uuid(), gen_random_uuid(), 'default', gen_random_uuid(), 2, 'APPLIED',
     gen_random_uuid(), now(), now() + (case when n > ${removable} then 1 else -1 end) *
       interval '1 hour' from rows`,
  `insert into session_devices (id, user_id, tenant_id, issuer, sid, device_id, created_at)
   select gen_random_uuid(), gen_random_uuid(), 'default', '', n, gen_random_uuid(),
     now() - (case when n > ${removable} then 1 else 500 end) * interval '1 day' from rows`,
  `insert into replaced_keys (id, user_id, tenant_id, kind, version, key_generation, wrapped_key,
     replaced_at)
   select gen_random_uuid(), gen_random_uuid(), 'default', 'MASTER', 1, 1, '',
     now() - (case when n > ${removable} then 1 else 90 end) * interval '1 day' from rows`,
  `insert into outbox (id, kind, payload, available_at)
   select gen_random_uuid(), 'email', json_build_object('to', n || '@example.com')::text,
     now() + interval '9 days' from rows`,
  `insert into outbox (id, kind, user_id, payload, available_at)
   select gen_random_uuid(), 'email', gen_random_uuid(), '{}', now() + interval '9 days' from rows`,
  `with added as (
     insert into upload_sessions (id, user_id, tenant_id, file_name, file_size, mime_type,
       total_parts, storage_key, storage_upload_id, status, expires_at, completed_at, is_used)
     select gen_random_uuid(), '${owner.userId}', 'default', 'f', 1, 'application/octet-stream', 1,
       gen_random_uuid() || '/f', n, 'COMPLETED', now(), now() - interval '9 days',
       n > ${removable} from rows
     returning id, storage_key, is_used
   ), documents as (
     insert into documents (id, user_id, tenant_id, place)
     select id, '${owner.userId}', 'default', id from added where is_used
   )
   insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
     object_version, file_size, file_hash, encrypted_metadata, status, sealed_at, proof_id)
   select id, 1, '${owner.userId}', 'default', storage_key, 'v', 1, storage_key, '', 'SEALED',
     now(), id from added where is_used`,
  `insert into document_shares
     (id, user_id, tenant_id, document_id, recipient_ref, recipient_user_id, wrapped_key,
       permissions)
   select gen_random_uuid(), user_id, tenant_id, id, gen_random_uuid(), gen_random_uuid(), '', '{}'
   from documents`,
];

test.before(async (t) => {
  const vault = await startReadyVault();
  const db = await openDatabase({ ...vault.config.database, poolSize: 1 });
  t.context = { vault, db };
  const sql = createSql(vault);
  for (const insert of inserts) {
    const rows = `with rows as (select n from generate_series(1, ${kept}) n)`;
    await sql(insert.startsWith('with ') ? `${rows}, ${insert.slice(5)}` : `${rows} ${insert}`);
  }
  await sql('analyze');
});
test.after.always(async (t) => {
  await t.context.db.close();
  await t.context.vault.stop();
});

const now = () => new Date();

/** The removals, which resolve with the number of rows that they remove or find. */
const removals: Readonly<Record<string, (tx: Tx) => Promise<number>>> = {
  'expired sessions': (tx) => removeExpiredSessions(tx, now(), limit),
  'ended sessions': (tx) => removeEndedSessions(tx, now(), limit),
  'client addresses': (tx) => removeOldAddresses(tx, now(), limit),
  'idempotency keys': (tx) => removeOldKeys(tx, limit),
  'responses of sync writes': (tx) => removeOldRequests(tx, limit),
  'history of objects': (tx) => removeOldHistory(tx, limit),
  'bindings of sessions': (tx) => removeOldBindings(tx, now(), limit),
  'replaced keys': (tx) => removeOldReplaced(tx, now(), limit),
  'unused uploads': async (tx) => {
    const { ids } = await findUnused(tx, now(), { after: undefined, limit });
    return ids.length;
  },
  'shares of an account': async (tx) => (await removeSharing(tx, owner, limit)).shares,
  'uploads of an account': async (tx) => {
    await lockUnsealed(tx, owner, limit);
    return (await removeUnusedOf(tx, owner, limit)).removed.length;
  },
};

for (const [what, remove] of Object.entries(removals)) {
  test.serial(`a batch of ${what} is found without reading what stays`, async (t) => {
    const read = await readBy(t.context.db, async (tx) => t.is(await remove(tx), limit));
    t.deepEqual(read.scanned, []);
    t.true(read.fetched <= 20 * limit, `${read.fetched} rows were fetched`);
  });
}

test.serial('the e-mails of an account are found among many by an index', async (t) => {
  const read = await readBy(t.context.db, async (tx) =>
    t.is(await removeWaitingMails(tx, [randomUUID()], '7@example.com'), 1),
  );
  t.deepEqual(read.scanned, []);
});

interface Reads {
  readonly table: string;
  readonly scanned: number;
  readonly fetched: number;
}

/** Returns what a transaction reads: the tables that it scans, and the rows that it fetches. */
async function readBy(db: Database, work: (tx: Tx) => Promise<unknown>) {
  const [before, after] = await db.asService(async (tx) => {
    const first = await countReads(tx);
    await work(tx);
    return [first, await countReads(tx)] as const;
  });
  const earlier = new Map(before.map((reads) => [reads.table, reads]));
  const scannedOf = ({ table, scanned }: Reads) => scanned - (earlier.get(table)?.scanned ?? 0);
  const fetchedOf = ({ table, fetched }: Reads) => fetched - (earlier.get(table)?.fetched ?? 0);
  return {
    scanned: after.filter((reads) => scannedOf(reads) > 20 * limit).map(({ table }) => table),
    fetched: after.reduce((sum, reads) => sum + fetchedOf(reads), 0),
  };
}

/** The counters go on from transaction to transaction of a connection. */
async function countReads(tx: Tx): Promise<readonly Reads[]> {
  const { rows } = await query<Reads>`
    select relname as table, seq_tup_read::int as scanned,
      coalesce(idx_tup_fetch, 0)::int as fetched
    from pg_stat_xact_user_tables`.execute(tx);
  return rows;
}
