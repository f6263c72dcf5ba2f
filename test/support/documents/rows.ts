import type { Owner } from '../../../app/db/database.ts';
import { until } from '../../../app/dev/processes/until.ts';
import type { Sql } from '../vault/sql.ts';
import { metadata } from './documents.ts';

/**
 * Inserts PENDING documents without files, created some time ago. Resolves with their ids, newest
 * first.
 */
export async function insertDocuments(
  sql: Sql,
  { userId, tenantId }: Owner,
  count: number,
  age = '0 days',
): Promise<string[]> {
  const rows = await sql(
    `with numbered as (
       select uuidv7() as id, n from generate_series(1, $3::int) n
     ), documents as (
       insert into documents (id, user_id, tenant_id, place, created_at)
       select id, $1, $2, id, now() - $4::interval from numbered
     ), versions as (
       insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
         object_version, file_size, file_hash, encrypted_metadata, created_at)
       select id, 1, $1, $2, id || '/f', 'v', 1, encode(sha256(id::text::bytea), 'hex'), $5,
         now() - $4::interval
       from numbered
     )
     select id from numbered order by id desc`,
    [userId, tenantId, count, age, metadata],
  );
  return rows.map(({ id }) => String(id));
}

/** Marks a document's versions as expired, as if they had not been sealed in time. */
export async function expireDocument(sql: Sql, id: string): Promise<void> {
  await sql(`update document_versions set status = 'EXPIRED' where document_id = $1`, [id]);
}

/** Sets the age of all versions of a document. */
export async function ageDocument(sql: Sql, id: string, age: string): Promise<void> {
  await sql(
    'update document_versions set created_at = now() - $2::interval where document_id = $1',
    [id, age],
  );
}

/** Returns the actions of a document's audit entries, oldest first. */
export async function actionsOn(sql: Sql, id: string): Promise<string[]> {
  const rows = await sql(
    `select action from audit_entries where resource_type = 'document' and resource_id = $1
     order by seq`,
    [id],
  );
  return rows.map(({ action }) => String(action));
}

/** Waits until the hash of a completed upload is known. */
export async function untilHashed(sql: Sql, sessionId: string): Promise<void> {
  const known = 'select 1 from upload_sessions where id = $1 and file_hash is not null';
  await until(async () => (await sql(known, [sessionId])).length === 1, {
    what: 'the hash of the upload',
    timeoutMs: 60_000,
  });
}
