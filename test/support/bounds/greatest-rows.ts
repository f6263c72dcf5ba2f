import { randomUUID } from 'node:crypto';
import type { Owner } from '../../../app/db/database.ts';
import type { Sql } from '../vault/sql.ts';
import { appending } from '../audit/log-rows.ts';

/** The ids of rows of the greatest size, for the paths of requests. */
export interface GreatestRows {
  /** A document with many versions and shares. */
  readonly documentId: string;
  /** A synchronised object with the largest data and many versions. */
  readonly objectId: string;
  /** The ids of audit entries, newest first. */
  readonly entryIds: readonly string[];
}

const keyword = '0'.repeat(64);
/** SQL for 64 KiB of encrypted metadata in base64. */
const metadata = "repeat('A', 87380) || 'AA=='";
/** SQL for a wrapped document key of 1024 bytes in base64. */
const wrappedKey = "repeat('A', 1364) || 'AA=='";
/** SQL for the text of an audit entry of 64 KiB. */
const canonical = `rpad('{"actor":{"id":null,"type":"system"},"data":{"note":"', 65430, 'a')
  || '"},"outcome":"success"}'`;

/**
 * Inserts, for every list of the API, `count` rows of the greatest size that an owner can have: of
 * the owner, or shared with the owner. The texts compress well, so that they take little disk.
 */
export async function insertGreatestRows(
  sql: Sql,
  owner: Owner,
  { count, keyId }: { readonly count: number; readonly keyId: string },
): Promise<GreatestRows> {
  const { userId, tenantId } = owner;
  const [documentId = ''] = await insertDocuments(sql, owner, count);
  const entryIds = await insertEntries(sql, owner, { count, keyId });
  await sql(
    `insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
       object_version, file_size, file_hash, encrypted_metadata, status, sealed_at, proof_id)
     select $1, n + 1, $2, $3, gen_random_uuid() || '/f', 'v', 1,
       encode(sha256(gen_random_uuid()::text::bytea), 'hex'), ${metadata}, 'SEALED', now(), id
     from unnest($4::uuid[]) with ordinality as entry (id, n)`,
    [documentId, userId, tenantId, entryIds],
  );
  await sql(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref, wrapped_key,
       permissions)
     select uuidv7(), $2, $3, $1, gen_random_uuid(), ${wrappedKey}, '{read}'
     from generate_series(1, $4::int)`,
    [documentId, userId, tenantId, count],
  );
  await insertReceived(sql, owner, count);
  const objectId = await insertObjects(sql, owner, count);
  await sql(
    `insert into memory_records (user_id, tenant_id, writer, number, record)
     select $1, $2, gen_random_uuid(), 1, repeat('A', 87380) || 'AA=='
     from generate_series(1, $3::int)`,
    [userId, tenantId, count],
  );
  await insertJobs(sql, owner, count);
  await sql(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at)
     select uuidv7(), $1, $2, now(), now() + interval '1 day' from generate_series(1, $3::int)`,
    [userId, tenantId, count],
  );
  await sql(
    `insert into devices (user_id, tenant_id, device_id, encrypted_info)
     select $1, $2, gen_random_uuid(), ${wrappedKey} from generate_series(1, least($3::int, 99))`,
    [userId, tenantId, count],
  );
  return { documentId, objectId, entryIds };
}

/** The keyword that all of the inserted documents have. */
export const commonKeyword = keyword;

async function insertDocuments(
  sql: Sql,
  { userId, tenantId }: Owner,
  count: number,
): Promise<string[]> {
  const rows = await sql(
    `with numbered as (
       select uuidv7() as id from generate_series(1, $3::int)
     ), made as (
       insert into documents (id, user_id, tenant_id, place) select id, $1, $2, id from numbered
     ), versions as (
       insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
         object_version, file_size, file_hash, encrypted_metadata)
       select id, 1, $1, $2, id || '/f', 'v', 1, encode(sha256(id::text::bytea), 'hex'),
         ${metadata}
       from numbered
     ), named as (
       insert into document_keywords (user_id, tenant_id, keyword_hash, place, document_id)
       select $1, $2, '${keyword}', id, id from numbered
     )
     select id from numbered order by id desc`,
    [userId, tenantId, count],
  );
  return rows.map(({ id }) => String(id));
}

/** Inserts documents of another user that are shared with the owner. */
async function insertReceived(sql: Sql, { userId, tenantId }: Owner, count: number): Promise<void> {
  const giver = randomUUID();
  const ids = await insertDocuments(sql, { userId: giver, tenantId }, count);
  await sql(
    `insert into document_shares (id, user_id, tenant_id, document_id, recipient_ref,
       recipient_user_id, wrapped_key, permissions)
     select uuidv7(), $1, $2, id, gen_random_uuid(), $3, ${wrappedKey}, '{read}'
     from unnest($4::uuid[]) as shared (id)`,
    [giver, tenantId, userId, ids],
  );
}

async function insertEntries(
  sql: Sql,
  { userId, tenantId }: Owner,
  { count, keyId }: { readonly count: number; readonly keyId: string },
): Promise<string[]> {
  const rows = await sql(
    `${appending(`
     select uuidv7(), $1, $2, 'test', gen_random_uuid(), 1, 'document.sealed', ${canonical}
     from generate_series(1, $3::int)`)} returning id`,
    [userId, tenantId, count],
  );
  await sql(
    `with sealed as (delete from audit_queue where entry_id = any($1) returning entry_id)
     insert into audit_seals (entry_id, hash, signature, key_id, sealed_at, late)
     select entry_id, sha256(''), decode(repeat('A', 104), 'base64'), decode($2, 'hex'), now(),
       false
     from sealed`,
    [rows.map(({ id }) => id), keyId],
  );
  return rows.map(({ id }) => String(id)).toSorted((a, b) => (a < b ? 1 : -1));
}

/** Inserts objects, and versions of the first of them. Resolves with the id of the first. */
async function insertObjects(
  sql: Sql,
  { userId, tenantId }: Owner,
  count: number,
): Promise<string> {
  const objectId = randomUUID();
  await sql(
    `insert into sync_objects (user_id, tenant_id, object_id, version, data, change_seq,
       last_modified_at)
     select $1, $2, case when n = 1 then $3 else gen_random_uuid() end,
       case when n = 1 then $4::int else 1 end,
       case when n = 1 then '{"a":"' || repeat('a', 524280) || '"}' else '{}' end, n, now()
     from generate_series(1, $4::int) n`,
    [userId, tenantId, objectId, count],
  );
  await sql('insert into sync_counters (user_id, tenant_id, last_change) values ($1, $2, $3)', [
    userId,
    tenantId,
    count,
  ]);
  await sql(
    `insert into sync_history (id, user_id, tenant_id, object_id, version, base_version, status,
       rule_applied, sync_request_id, device_id, changed_at, changed_fields)
     select uuidv7(), $1, $2, $3, n, n - 1, 'APPLIED', 'LAST_WRITE_WINS,MAX,MIN,UNION',
       gen_random_uuid(), gen_random_uuid(), now(), '["/' || repeat('a', 1048570) || '"]'
     from generate_series(1, $4::int) n`,
    [userId, tenantId, objectId, count],
  );
  return objectId;
}

/** Inserts jobs that failed long ago, and jobs with a result of the greatest size. */
async function insertJobs(sql: Sql, { userId, tenantId }: Owner, count: number): Promise<void> {
  const text = `'{"processed":true}'`;
  await sql(
    `insert into jobs (id, user_id, tenant_id, type, state, request_id, result, error, retryable,
       finished_at)
     select uuidv7(), $1, $2, 'EMAIL_VALIDATION', case when n % 2 = 0 then 'FAILED'
         else 'COMPLETED' end, gen_random_uuid(),
       case when n % 2 = 1 then ${text} end, case when n % 2 = 0 then 'storage_unavailable' end,
       case when n % 2 = 0 then true end, now() - interval '31 days'
     from generate_series(1, $3::int) as n`,
    [userId, tenantId, count],
  );
}
