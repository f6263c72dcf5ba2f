import type { DatabaseUrls } from '../../../app/dev/postgres/database.ts';
import { withClient } from '../sync/people.ts';

/**
 * Inserts documents of one user, each with its version, one keyword and its completed upload, as if
 * each had been stored over HTTP.
 */
export async function insertStored(
  { owner, service }: DatabaseUrls,
  userId: string,
  documents: number,
): Promise<void> {
  await withClient(service, async (client) => {
    await client.query(
      `with made as (
         insert into documents (id, user_id, tenant_id, place)
         select gen_random_uuid(), $1, 'default', uuidv7() from generate_series(1, $2::int)
         returning id, place
       ), uploads as (
         insert into upload_sessions (id, user_id, tenant_id, file_name, file_size, mime_type,
           total_parts, storage_key, storage_upload_id, status, expires_at, completed_at,
           object_version, file_hash)
         select id, $1, 'default', 'evidence', 1, 'application/octet-stream', 1,
           id || '/evidence', 'u', 'COMPLETED', now() + interval '1 day', now(), 'v',
           encode(sha256(id::text::bytea), 'hex')
         from made
       ), versions as (
         insert into document_versions (document_id, version, user_id, tenant_id, storage_key,
           object_version, file_size, file_hash, encrypted_metadata)
         select id, 1, $1, 'default', id || '/evidence', 'v', 1,
           encode(sha256(id::text::bytea), 'hex'), encode(sha512(id::text::bytea), 'base64')
         from made
       )
       insert into document_keywords (user_id, tenant_id, keyword_hash, place, document_id)
       select $1, 'default', encode(sha256(id::text::bytea), 'hex'), place, id from made`,
      [userId, documents],
    );
  });
  // Autovacuum would do this in time.
  await withClient(owner, (client) =>
    client.query(
      'vacuum (analyze) documents, document_versions, document_keywords, upload_sessions',
    ),
  );
}
